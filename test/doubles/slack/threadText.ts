import { textFor } from './streams.ts'
import type { Ephemeral, Fields, SlackMessage, World } from './world.ts'

/**
 * A thread as a person would read it, one line or more a message: `name: words`, small print, buttons, files. With `viewer`:
 * as this person does, before whom a stream may not grow.
 */
export function threadText(world: World, channel: string, ts: string, viewer?: string): string {
  return world
    .thread(channel, ts)
    .map((message) => messageText(world, { ...message, text: textFor(world, message, viewer) }))
    .join('\n')
}

export function messageText(world: World, message: SlackMessage): string {
  return `${authorName(world, message)}: ${shownText(world, message)}`
}

export function authorName(world: World, message: SlackMessage): string {
  if (message.botId === world.app.botId) return world.app.botName
  return world.users.get(message.user ?? '')?.displayName ?? message.user ?? message.botId ?? 'somebody'
}

/** What stands in the message; where there are blocks, Slack shows those instead of the text. */
export function shownText(world: World, message: SlackMessage): string {
  const body = shownWords(message)
  const files = (message.files ?? []).map(({ name }) => `[file ${name}]`)
  const reactions = message.reactions.map(({ name }) => `:${name}:`).join(' ')
  return [...body, ...files, reactions]
    .filter(Boolean)
    .map((text) => plain(world, text))
    .join('\n')
}

/** Blocks, or the text where there are none. */
function shownWords({ blocks, text }: { blocks?: Fields[]; text: string }): string[] {
  return blocks?.length ? blocks.map((block) => blockText(block)) : [text]
}

/** What one person alone was shown. */
export function ephemeralText(world: World, ephemeral: Ephemeral): string {
  return shownWords(ephemeral)
    .map((text) => plain(world, text))
    .join('\n')
}

/** The words of any block, in order. Buttons in brackets, table rows with bars. */
export function blockText(block: Fields): string {
  switch (block.type) {
    case 'actions':
      return buttonsOf([block])
        .map(({ text }) => `[${(text as Fields).text}]`)
        .join(' ')
    case 'table':
      return (block.rows as Fields[][]).map((row) => row.map((cell) => textOf(cell)).join(' | ')).join('\n')
    case 'context':
      return (block.elements as Fields[]).map((element) => textOf(element)).join(' ')
    case 'divider':
      return '---'
    case 'task_card':
      return [`${TASK_SIGNS[String(block.status)]} ${block.title}`, textOf(block.details), textOf(block.output)]
        .filter(Boolean)
        .join('\n')
    case 'plan':
      return [String(block.title), ...(block.tasks as Fields[]).map(blockText)].join('\n')
    default:
      return textOf(block)
  }
}

const TASK_SIGNS: Record<string, string> = { pending: '○', in_progress: '◌', complete: '✓', error: '✗' }

export function buttonsOf(blocks: Fields[] = []): Fields[] {
  return blocks.flatMap((block, index) => {
    if (block.type !== 'actions') return []
    // Slack makes up the id of a block that has none.
    const id = block.block_id ?? `b${index}`
    return (block.elements as Fields[]).map((element): Fields => ({ ...element, block_id: id }))
  })
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('')
  if (typeof value !== 'object' || value === null) return ''
  const { text, elements, fields, user_id: user, url } = value as Fields
  if (typeof text === 'string') return text
  if (typeof user === 'string') return `<@${user}>`
  const inner = [text, elements, fields].map(textOf).join('')
  return inner || (typeof url === 'string' ? url : '')
}

/** Slack's tokens and entities as a person sees them. */
export function plain(world: World, text: string): string {
  return text
    .replace(/<@([UW][A-Z0-9]+)(?:\|[^>]*)?>/g, (_, id: string) => {
      return `@${id === world.app.botUserId ? world.app.botName : (world.users.get(id)?.displayName ?? id)}`
    })
    .replace(/<(https?:[^|>]+)\|([^>]*)>/g, '$2 ($1)')
    .replace(/<(https?:[^|>]+)>/g, '$1')
    .replace(/&(lt|gt|amp);/g, (_, name: string) => ({ lt: '<', gt: '>', amp: '&' })[name]!)
}
