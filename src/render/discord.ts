import { decodeString } from 'micromark-util-decode-string'
import {
  backticked,
  balanced,
  type Dialect,
  fenceLanguage,
  LIVE_MARK,
  printChatMarkdown,
  withLiveMark,
} from './chatMarkdown.ts'
import { codePoints, cut } from './graphemes.ts'
import type { ButtonView, MessageView } from './messageView.ts'
import { tableCells } from './plain.ts'
import { fixedWidthTable } from './textTable.ts'

/** What Discord takes in one message (facts/discord.md b; text counts in code points). */
export const DISCORD_LIMITS = {
  content: 2_000,
  /** Room that `discordSize` keeps for the small print and the live mark; a longer footer is cut. */
  footer: 120,
  buttonLabel: 80,
  customId: 100,
  buttonsPerRow: 5,
  rows: 5,
  mentions: 100,
} as const

/** Every custom id of ours begins with this; `toycoder:ACTION:VALUE`. */
export const DISCORD_ID_PREFIX = 'toycoder:'

/** Names a button or a dialog. Action and value may have 90 characters together; Discord refuses more. */
export function discordId(action: string, value: string): string {
  return `${DISCORD_ID_PREFIX}${action}:${value}`
}

const SUPPRESS_EMBEDS = 1 << 2
const SUPPRESS_NOTIFICATIONS = 1 << 12
const BUTTON_STYLES = { primary: 1, plain: 2, success: 3, danger: 4 } as const

/** The JSON of Discord's REST API for creating or editing a message. */
export interface DiscordMessage {
  content: string
  components: DiscordActionRow[]
  /** No link previews; activity also without notification (on creation: Discord ignores that bit in edits). */
  flags: number
  allowed_mentions: { parse: []; users: string[]; replied_user: false }
}

export interface DiscordActionRow {
  type: 1
  components: { type: 2; style: number; label: string; custom_id: string }[]
}

/**
 * A message as Discord takes it. Tables become aligned code blocks, what Discord's Markdown lacks becomes text, and what it
 * alone has (spoilers, underline, small print, timestamps) is escaped: nobody meant it.
 *
 * Two things keep mentions harmless: in prose they are taken apart, and `allowed_mentions` names the few people who may be
 * notified. Code stays as it is; there the second one is enough.
 */
export function renderDiscord(body: MessageView): DiscordMessage {
  const mentions = (body.mentions ?? []).slice(0, DISCORD_LIMITS.mentions)
  const printed = printChatMarkdown(body.markdown, dialectFor(new Set(mentions)))
  const footer = body.footer ? `\n-# ${cut(literal(body.footer.replace(/\s+/g, ' ')), DISCORD_LIMITS.footer - 10)}` : ''
  const rows: DiscordActionRow[] = []
  for (const [index, button] of (body.buttons ?? []).entries()) {
    if (index % DISCORD_LIMITS.buttonsPerRow === 0) rows.push({ type: 1, components: [] })
    rows.at(-1)!.components.push(discordButton(button, body.kind))
  }
  return {
    content: (body.live ? withLiveMark(printed) : printed) + footer || LIVE_MARK,
    components: rows.slice(0, DISCORD_LIMITS.rows),
    flags: SUPPRESS_EMBEDS | (body.kind === 'activity' ? SUPPRESS_NOTIFICATIONS : 0),
    allowed_mentions: { parse: [], users: mentions, replied_user: false },
  }
}

/** Code points against `DISCORD_LIMITS.content`, with room for small print or the live mark. */
export function discordSize(markdown: string): number {
  return codePoints(printChatMarkdown(markdown, dialectFor(new Set()))) + DISCORD_LIMITS.footer
}

/** On a card the first choice lets something happen: green, as people know it from such questions. */
function discordButton(
  { action, label, style, value }: ButtonView,
  kind: MessageView['kind'],
): DiscordActionRow['components'][number] {
  return {
    type: 2,
    style: BUTTON_STYLES[kind === 'card' && style === 'primary' ? 'success' : style],
    // Discord takes no button without words.
    label: cut(label, DISCORD_LIMITS.buttonLabel).trim() || '…',
    custom_id: discordId(action, value),
  }
}

/** Plain text where Discord reads Markdown: it is shown as it is written, and mentions nobody. */
export function discordPlain(text: string): string {
  return literal(text)
}

function dialectFor(allowed: ReadonlySet<string>): Dialect {
  return {
    text: (written) => harmless(escapedProse(decoded(written)), allowed),
    literal,
    inlineCode: backticked,
    joined: (printed) => harmless(printed, allowed),
    code: (node) => codeBlock(node.value, fenceLanguage(node)),
    // Discord has three levels; deeper ones are bold lines.
    heading: (depth, content) => (depth <= 3 ? `${'#'.repeat(depth)} ${content}` : `**${content}**`),
    table: (node) => codeBlock(fixedWidthTable(tableCells(node), node.align ?? []), ''),
    link(label, url) {
      if (!/^https?:/i.test(url)) return label === '' ? literal(address(url)) : labelled(label, address(url))
      if (label === '' || label === url) return url
      // Discord refuses a label that looks like another address, and rightly so.
      return /https?:\/\//i.test(label) ? `${label} (${url})` : `[${label}](${balanced(url)})`
    },
    hardBreak: '\n',
    rule: '──────────',
    task: (checked) => (checked ? '☑ ' : '☐ '),
    cjkGap: '',
  }
}

/** Discord ends a code block at the next three backticks, whatever opened it: inside, a zero-width space parts them. */
function codeBlock(value: string, language: string): string {
  const parted = value.replace(/`(?=``)/g, '`\u200b').replace(/`$/, '`\u200b')
  return `\`\`\`${language}\n${parted === '' ? '\u200b' : parted}\n\`\`\``
}

/** Discord knows no entities. */
function decoded(written: string): string {
  return written.replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});/gi, (entity) => {
    const value = decodeString(entity)
    return value === entity ? entity : value.replace(/[\\`*_~|[\]]/g, '\\$&')
  })
}

/** Escapes what is text in CommonMark and markup on Discord: spoilers, loose double markers, small print, deep quotes. */
function escapedProse(written: string): string {
  return written
    .replace(/(\\[\s\S])|\|{2,}|\*{2,}|_{2,}|~{2,}/g, (run, escaped: string | undefined) =>
      escaped === undefined ? run.replace(/./g, '\\$&') : run,
    )
    .replace(/(^|\n)(?=-# |>>> )/g, '$1\\')
}

/** Takes apart whatever Discord would turn into a mention, a command, an emoji or a timestamp. */
function harmless(text: string, allowed: ReadonlySet<string>): string {
  return text
    .replace(/@(?=everyone|here)/g, '@\u200b')
    .replace(/\\?<(?=[@#:]|\/[^>\n]*:\d|a:|t:|id:)(@!?(\d+)>)?/g, (token, _rest, id: string | undefined) =>
      id !== undefined && allowed.has(id) ? `<@${id}>` : token.replace('<', '<\u200b'),
    )
}

function literal(value: string): string {
  return harmless(value.replace(/[\\`*_~|[\]]/g, '\\$&'), new Set())
}

function address(url: string): string {
  return url.replace(/^mailto:/i, '')
}

function labelled(label: string, target: string): string {
  return label === literal(target) || label === target ? label : `${label} (${literal(target)})`
}
