import { authorName, blockText, buttonsOf, plain } from './threadText.ts'
import { inputsOf, type OpenView } from './views.ts'
import type { Ephemeral, Fields, SlackMessage, World } from './world.ts'

/** Somebody who looks at a thread: sees what was said to them alone, and the modal that stands open before them. */
export interface Viewer {
  user: string
  view: OpenView | undefined
}

/** A page that shows a thread about as Slack does: for pictures in the README and for the eyes of whoever debugs. */
export function renderThreadHtml(world: World, channel: string, ts: string, viewer?: Viewer): string {
  const name = world.channels.get(channel)?.name ?? channel
  const alone = world.ephemerals.filter((words) => {
    return words.channel === channel && words.threadTs === ts && words.user === viewer?.user
  })
  const messages = [...world.thread(channel, ts), ...alone]
    .sort((one, other) => (one.ts < other.ts ? -1 : 1))
    .map((message) => ('reactions' in message ? messageHtml(world, message) : aloneHtml(world, message)))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Thread in #${escapeText(name)}</title><style>${STYLE}</style></head>
<body><header><b>Thread</b> <span>#${escapeText(name)}</span></header>
<main>${messages.join('\n')}</main>${viewer?.view ? modalHtml(viewer.view) : ''}</body></html>
`
}

function messageHtml(world: World, message: SlackMessage): string {
  const author = authorName(world, message)
  const isBot = message.botId !== undefined
  const time = new Date(Number(message.ts) * 1000).toISOString().slice(11, 16)
  const blocks: Fields[] = message.blocks?.length ? message.blocks : [{ type: 'mrkdwn', text: message.text }]
  const files = (message.files ?? []).map(({ name }) => `<p class="file">${escapeText(name)}</p>`)
  const reactions = message.reactions.map(({ name, users }) => {
    return `<span class="reaction">${EMOJI[name] ?? `:${escapeText(name)}:`} ${users.length}</span>`
  })
  return `<article>
<div class="face ${isBot ? 'bot' : ''}">${escapeText(author.slice(0, 1).toUpperCase())}</div>
<div class="said"><p class="who"><b>${escapeText(author)}</b>${isBot ? '<i>APP</i>' : ''}<time>${time}</time></p>
${[...blocks.map((block) => blockHtml(world, block)), ...files, ...reactions].join('\n')}</div>
</article>`
}

function aloneHtml(world: World, words: Ephemeral): string {
  const { botId, botUserId } = world.app
  const html = messageHtml(world, { ...words, user: botUserId, botId, reactions: [] })
  return html.replace('<article>', '<article class="alone"><p class="small">Only visible to you</p>')
}

function modalHtml({ view, values, errors, trouble }: OpenView): string {
  const words = (value: unknown) => escapeText(String((value as Fields | undefined)?.text ?? ''))
  const inputs = inputsOf(view).map(({ block_id: block, label, element, optional }) => {
    const value = escapeText(values[String(block)] ?? '')
    const input = (element as Fields).multiline
      ? `<textarea rows="4">${value}</textarea>`
      : `<input type="text" value="${value}">`
    const error = errors[String(block)]
    return `<label>${words(label)}${optional ? ' <i>(optional)</i>' : ''}${input}</label>${
      error ? `<p class="error">${escapeText(error)}</p>` : ''
    }`
  })
  const intro = (view.blocks as Fields[]).filter(({ type }) => type === 'section').map(({ text }) => words(text))
  return `<div class="shade"><form class="modal"><h2>${words(view.title)}</h2>
${trouble ? '<p class="error">We had some trouble connecting. Try again?</p>' : ''}
${[...intro.map((text) => `<p>${text}</p>`), ...inputs].join('\n')}
<p class="buttons"><button class="plain">${words(view.close)}</button> <button class="primary">${words(view.submit)}</button></p>
</form></div>`
}

function blockHtml(world: World, block: Fields): string {
  if (block.type === 'actions') {
    const buttons = buttonsOf([block]).map(({ text, style }) => {
      return `<button class="${style ?? 'plain'}">${escapeText(String((text as Fields).text))}</button>`
    })
    return `<p class="buttons">${buttons.join(' ')}</p>`
  }
  if (block.type === 'plan') {
    const tasks = (block.tasks as Fields[]).map((task) => blockHtml(world, task))
    return `<div class="plan"><b>${escapeText(String(block.title))}</b>${tasks.join('')}</div>`
  }
  const text = plain(world, blockText(block))
  if (block.type === 'task_card') {
    const [title = '', ...lines] = text.split('\n')
    const unfolded = lines.length > 0 ? `<pre>${escapeText(lines.join('\n'))}</pre>` : ''
    return `<div class="task"><b>${escapeText(title)}</b>${unfolded}</div>`
  }
  if (block.type === 'context') return `<p class="small">${escapeText(text)}</p>`
  return `<div class="text">${markdownHtml(text)}</div>`
}

/** The little of Markdown that answers in a picture need: fences, tables, code, bold, links, lists, headings. */
function markdownHtml(text: string): string {
  return text
    .split(/(```[^\n]*\n[\s\S]*?(?:```|(?![\s\S]))|(?:^\|.*\n?)+)/m)
    .map((part) => {
      const fence = /^```[^\n]*\n([\s\S]*?)(?:```|$)/.exec(part)
      if (fence) return `<pre>${escapeText(fence[1]!.trimEnd())}</pre>`
      return part.startsWith('|') ? tableHtml(part) : inlineHtml(part.trim())
    })
    .join('')
}

function tableHtml(source: string): string {
  const [head = [], , ...rows] = source
    .trim()
    .split('\n')
    .map((line) => line.replace(/^\||\|$/g, '').split(/(?<!\\)\|/))
  const row = (cells: string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${inlineHtml(cell.trim())}</${tag}>`).join('')}</tr>`
  return `<table>${row(head, 'th')}${rows.map((cells) => row(cells, 'td')).join('')}</table>`
}

function inlineHtml(text: string): string {
  return escapeText(text)
    .replace(/`([^`\n]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*\n]+)\*\*/g, '<b>$1</b>')
    .replace(/\[([^\]\n]+)\]\((https?:[^)\s]+)\)/g, '<a href="$2">$1</a>')
    .replace(/^#{1,6} (.*)$/gm, '<b>$1</b>')
    .replace(/^[-*] /gm, '• ')
    .replace(/(^|\s)@([A-Za-z][\w-]*)/g, '$1<span class="mention">@$2</span>')
    .replaceAll('\n', '<br>')
}

const EMOJI: Record<string, string> = { eyes: '👀', raised_hand: '✋', white_check_mark: '✅', warning: '⚠️' }

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
table{border-collapse:collapse;margin:4px 0}th,td{border:1px solid #ddd;padding:3px 10px;text-align:left}a{color:#1264a3}
.small{margin:2px 0;color:#616061;font-size:12px}.file{margin:4px 0;border:1px solid #ddd;border-radius:8px;padding:8px 12px;width:max-content}
.reaction{border:1px solid #ddd;border-radius:12px;padding:1px 8px;font-size:12px;background:#f8f8f8}.buttons{margin:6px 0 0}button{font:700 13px Lato,Arial,sans-serif;border:1px solid #bbb;border-radius:4px;background:#fff;padding:5px 12px}
button.primary{background:#007a5a;border-color:#007a5a;color:#fff}button.danger{border-color:#e01e5a;color:#e01e5a}
.buttons{display:flex;flex-wrap:wrap;gap:8px}article.alone{flex-wrap:wrap;background:#f8f8f8}article.alone>.small{flex:0 0 100%;margin:0 0 -4px 46px}
.task,.plan{border:1px solid #ddd;border-radius:8px;padding:6px 12px;margin:4px 0}.plan .task{border:0;padding:2px 0}
.shade{position:fixed;inset:0;background:#0006;display:grid;place-items:center}.modal{background:#fff;border-radius:8px;padding:8px 24px 20px;width:480px}
.modal label{display:block;font-weight:700;margin-top:12px}.modal label i{font-weight:400;color:#616061}.modal .buttons{justify-content:flex-end;margin-top:20px}
textarea,input{display:block;box-sizing:border-box;width:100%;font:15px/1.46 Lato,Arial,sans-serif;border:1px solid #bbb;border-radius:4px;padding:8px 12px}.error{color:#e01e5a;margin:4px 0 0}
`
