import type { ActionsBlock, Button, ContextBlock, MarkdownBlock } from '@slack/types'
import {
  backticked,
  balanced,
  type Dialect,
  fenceFor,
  fenceLanguage,
  LIVE_MARK,
  printChatMarkdown,
  withLiveMark,
} from './chatMarkdown.ts'
import { cut } from './graphemes.ts'
import type { ButtonView, MessageView } from './messageView.ts'
import { renderPlain, tableCells } from './plain.ts'
import { fixedWidthTable } from './textTable.ts'

/**
 * What Slack takes in one message (facts/slack.md A.1, B.1; lengths in UTF-16 units, which are never fewer than Slack's
 * characters).
 */
export const SLACK_LIMITS = {
  /**
   * `text` of `chat.update`; a longer one is refused with `msg_too_long`. It is also the limit of our messages: the block
   * could hold three times as much, but then `text`, which notifications, screen readers and search use, would be cut.
   */
  text: 4_000,
  /** `markdown` blocks, summed over the message. */
  markdownBlock: 12_000,
  contextText: 3_000,
  /** Slack takes 25; more than five in a row are hard to tell apart. */
  buttonsPerRow: 5,
  buttonLabel: 75,
  buttonValue: 2_000,
  tableRows: 100,
  tableColumns: 20,
} as const

export type SlackBlock = MarkdownBlock | ContextBlock | ActionsBlock

/** Every action id of ours begins with this: `toycoder:ACTION`, or `toycoder:ACTION#1` where an action comes again. */
export const SLACK_ACTION_PREFIX = 'toycoder:'

/**
 * A message as Slack takes it: `blocks` are what people see, `text` is the same as plain text for notifications and screen
 * readers.
 *
 * Answers go into `markdown` blocks and not into mrkdwn: models write standard Markdown, mrkdwn has neither tables nor
 * headings nor lists, needs blanks around its markers (CJK text has none) and pairs underscores inside addresses. Slack
 * resolves mention tokens in `markdown` blocks too, so they are taken apart there, also in code.
 */
export function renderSlack(body: MessageView): { text: string; blocks: SlackBlock[] } {
  const allowed = new Set(body.mentions ?? [])
  const printed = printSlack(body.markdown, allowed)
  const markdown = body.live ? withLiveMark(printed) : printed
  const blocks: SlackBlock[] = []
  if (markdown !== '') blocks.push({ type: 'markdown', text: cut(markdown, SLACK_LIMITS.markdownBlock) })
  blocks.push(...blocksBelow(body))
  const text = fallbackText(body.markdown, allowed) || escaped(body.footer ?? '') || LIVE_MARK
  return { text: cut(text, SLACK_LIMITS.text), blocks }
}

/** The text of a message's `markdown` block; a stream takes the same. */
export function printSlack(markdown: string, allowed: ReadonlySet<string> = new Set()): string {
  return printChatMarkdown(markdown, dialectFor(allowed))
}

/** Small print and buttons. */
export function blocksBelow({ footer, buttons = [] }: Pick<MessageView, 'footer' | 'buttons'>): SlackBlock[] {
  const blocks: SlackBlock[] = []
  if (footer) {
    const text = cut(apart(footer), SLACK_LIMITS.contextText)
    blocks.push({ type: 'context', elements: [{ type: 'plain_text', text, emoji: false }] })
  }
  for (let at = 0; at < buttons.length; at += SLACK_LIMITS.buttonsPerRow) {
    const row = buttons.slice(at, at + SLACK_LIMITS.buttonsPerRow)
    blocks.push({ type: 'actions', elements: row.map((one) => button(one, repeatOf(one, buttons))) })
  }
  return blocks
}

/** Length against `SLACK_LIMITS.text`: the longer of the block and the fallback text, in UTF-16 units. */
export function slackSize(markdown: string): number {
  const block = printSlack(markdown)
  return Math.max(block.length + 1 + LIVE_MARK.length, fallbackText(markdown, new Set()).length)
}

/** Action ids are unique within a message; the second button of one action is told apart by `#1`. */
function repeatOf(one: ButtonView, all: readonly ButtonView[]): string {
  const repeat = all.filter(({ action }) => action === one.action).indexOf(one)
  return repeat > 0 ? `#${repeat}` : ''
}

function button({ action, label, style, value }: ButtonView, repeat: string): Button {
  return {
    type: 'button',
    action_id: SLACK_ACTION_PREFIX + action + repeat,
    text: { type: 'plain_text', text: cut(apart(label), SLACK_LIMITS.buttonLabel), emoji: false },
    value,
    ...(style !== 'plain' && { style }),
  }
}

function fallbackText(markdown: string, allowed: ReadonlySet<string>): string {
  return escaped(renderPlain(markdown)).replace(/&lt;@([A-Z0-9]+)(?:\|[^&]*)?&gt;/g, (token, id: string) =>
    allowed.has(id) ? `<@${id}>` : token,
  )
}

/** Takes mention tokens apart where nothing can be escaped: an invisible word joiner behind the angle. */
export function apart(value: string): string {
  return value.replace(/<(?=[!@#])/g, '<\u2060')
}

/** The three characters that Slack's `text` gives a meaning of its own (facts/slack.md B.3). */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function dialectFor(allowed: ReadonlySet<string>): Dialect {
  const text = (written: string) =>
    written
      .replace(/&(?:lt|#0*60|#x0*3c);/gi, '&lt;')
      .replace(/\\?<(?=[^\s\d=<>-])(@([A-Z0-9]+)(?:\|[^>\n]*)?>)?/g, (token, _rest, id: string | undefined) =>
        id !== undefined && allowed.has(id) ? `<@${id}>` : token.replace(/^\\?</, '&lt;'),
      )
  const literal = (value: string) =>
    value
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replace(/[\\`*_~[\]]/g, '\\$&')
  return {
    text,
    literal,
    inlineCode: (value) => backticked(apart(value)),
    joined: (printed) =>
      printed.replace(/<(?=[!@#])(?:@([A-Z0-9]+)>)?/g, (token, id: string | undefined) =>
        id !== undefined && allowed.has(id) ? token : token.replace('<', '<\u2060'),
      ),
    code(node, written) {
      const fence = fenceFor(node.value, written)
      return `${fence}${fenceLanguage(node)}\n${node.value === '' ? '' : `${apart(node.value)}\n`}${fence}`
    },
    heading: (depth, content) => `${'#'.repeat(depth)} ${content}`,
    table(node, print) {
      const columns = Math.max(...node.children.map((row) => row.children.length))
      if (node.children.length > SLACK_LIMITS.tableRows || columns > SLACK_LIMITS.tableColumns) {
        return `\`\`\`\n${apart(fixedWidthTable(tableCells(node), node.align ?? []))}\n\`\`\``
      }
      const line = (cells: string[]) => `| ${cells.join(' | ')} |`
      const dashes = { left: ':--', right: '--:', center: ':-:' }
      const [header, ...rows] = node.children.map((row) =>
        line(row.children.map((cell) => print(cell).replace(/(?<!\\)\|/g, '\\|'))),
      )
      const rule = line(node.children[0]!.children.map((_, column) => dashes[node.align?.[column] ?? 'left']))
      return [header, rule, ...rows].join('\n')
    },
    link: (label, url) => (label === '' || label === url ? url : `[${label}](${balanced(url)})`),
    hardBreak: '  \n',
    rule: '---',
    task: (checked) => (checked ? '[x] ' : '[ ] '),
    cjkGap: '\u200b',
  }
}
