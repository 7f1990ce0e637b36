import { authorName, buttonsOf, shownText } from './threadText.ts'
import type { SlackMessage, World } from './world.ts'

/** A page that shows a thread about as Slack does: for pictures in the README and for the eyes of whoever debugs. */
export function renderThreadHtml(world: World, channel: string, ts: string): string {
  const name = world.channels.get(channel)?.name ?? channel
  const messages = world.thread(channel, ts).map((message) => messageHtml(world, message))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Thread in #${escapeText(name)}</title><style>${STYLE}</style></head>
<body><header><b>Thread</b> <span>#${escapeText(name)}</span></header>
<main>${messages.join('\n')}</main></body></html>
`
}

function messageHtml(world: World, message: SlackMessage): string {
  const author = authorName(world, message)
  const isBot = message.botId !== undefined
  const time = new Date(Number(message.ts) * 1000).toISOString().slice(11, 16)
  const buttons = buttonsOf(message.blocks)
  const body = shownText(world, buttons.length ? { ...message, blocks: withoutButtons(message) } : message)
  const buttonHtml = buttons.map(({ text, style }) => {
    return `<button class="${style ?? 'plain'}">${escapeText(String((text as { text: string }).text))}</button>`
  })
  return `<article>
<div class="face ${isBot ? 'bot' : ''}">${escapeText(author.slice(0, 1).toUpperCase())}</div>
<div class="said"><p class="who"><b>${escapeText(author)}</b>${isBot ? '<i>APP</i>' : ''}<time>${time}</time></p>
<div class="text">${markdownHtml(body)}</div>${buttonHtml.length ? `<p class="buttons">${buttonHtml.join(' ')}</p>` : ''}</div>
</article>`
}

function withoutButtons(message: SlackMessage) {
  return (message.blocks ?? []).filter(({ type }) => type !== 'actions')
}

/** The little of Markdown that answers in a picture need: fences, code, bold, lists, headings. */
function markdownHtml(text: string): string {
  return text
    .split(/(```[^\n]*\n[\s\S]*?(?:```|$))/)
    .map((part) => {
      const fence = /^```[^\n]*\n([\s\S]*?)(?:```|$)/.exec(part)
      return fence ? `<pre>${escapeText(fence[1]!.trimEnd())}</pre>` : inlineHtml(part)
    })
    .join('')
}

function inlineHtml(text: string): string {
  return escapeText(text)
    .replace(/`([^`\n]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*\n]+)\*\*/g, '<b>$1</b>')
    .replace(/^#{1,6} (.*)$/gm, '<b>$1</b>')
    .replace(/^[-*] /gm, '• ')
    .replace(/(^|\s)@([A-Za-z][\w-]*)/g, '$1<span class="mention">@$2</span>')
    .trim()
    .replaceAll('\n', '<br>')
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

const STYLE = `
body{margin:0;font:15px/1.46 Lato,"Helvetica Neue",Arial,sans-serif;color:#1d1c1d;background:#fff;max-width:640px}
header{padding:14px 20px;border-bottom:1px solid #ddd}header b{font-size:18px}header span{color:#616061;margin-left:8px;font-size:13px}
article{display:flex;gap:10px;padding:8px 20px}.face{flex:none;width:36px;height:36px;border-radius:6px;background:#4a7f5c;color:#fff;display:grid;place-items:center;font-weight:700}
.face.bot{background:#4a154b}.said{min-width:0;flex:1}.who{margin:0}.who i{font:600 10px/1 sans-serif;background:#e8e8e8;color:#616061;border-radius:2px;padding:2px 4px;margin-left:6px}
time{color:#616061;font-size:12px;margin-left:8px}pre{background:#f8f8f8;border:1px solid #ddd;border-radius:4px;padding:8px;margin:4px 0;font:12px/1.5 Menlo,Consolas,monospace;white-space:pre-wrap}
code{background:#f8f8f8;border:1px solid #ddd;border-radius:3px;padding:1px 3px;color:#c01343;font:12px Menlo,Consolas,monospace}.mention{background:#e8f5fa;color:#1264a3;border-radius:3px;padding:0 2px}
.buttons{margin:6px 0 0}button{font:700 13px Lato,Arial,sans-serif;border:1px solid #bbb;border-radius:4px;background:#fff;padding:5px 12px}
button.primary{background:#007a5a;border-color:#007a5a;color:#fff}button.danger{border-color:#e01e5a;color:#e01e5a}
`
