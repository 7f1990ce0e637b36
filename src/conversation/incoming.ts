import type { IncomingCommand, IncomingMessage, IncomingStop } from '../platform/platform.ts'
import type { InboxEvent } from '../session/inbox.ts'
import { modelMessage, speaker } from '../session/view.ts'
import { PlatformError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { UserMessage } from '../shared/message.ts'
import type { EventSource, MessageRecord } from '../shared/record.ts'
import type { Person, ThreadRef } from '../shared/thread.ts'
import type { OpenThread } from './openThread.ts'

/** How many earlier messages of a thread come along when the bot is first mentioned in it. */
const BACKGROUND_MESSAGES = 50
const BACKGROUND_CHARACTERS = 20_000

/**
 * An event as the message it amounts to: a slash command typed in a thread is what `@bot NAME TEXT` would be there, and any
 * other wish to stop is `@bot stop`.
 */
export function messageOf(event: InboxEvent, thread: ThreadRef): IncomingMessage {
  switch (event.kind) {
    case 'message':
      return event.message
    case 'command':
      return commandAsMessage(event.command, thread)
    case 'stop':
      return asMention(event.stop, thread, `stop:${event.id}`, 'stop')
  }
}

export function commandAsMessage(command: IncomingCommand, thread: ThreadRef): IncomingMessage {
  const text = command.name === 'toycoder' ? command.text : `${command.name} ${command.text}`
  return asMention(command, thread, `command:${command.id}`, text.trim() === '' ? 'help' : text)
}

function asMention(
  { author, at }: IncomingCommand | IncomingStop,
  thread: ThreadRef,
  id: string,
  text: string,
): IncomingMessage {
  return {
    ...{ id, aliases: [], thread, ref: { channel: thread.channel, id: '' }, author, text, at },
    ...{ addressed: 'mention', hasEarlier: false, edited: false, attachments: [] },
  }
}

/** Commands that a specialist answers in a turn of its own; all others are carried out at once. */
export function specialistOf(commandName: string): 'plan' | 'review' | null {
  return commandName === 'plan' || commandName === 'review' ? commandName : null
}

/** What a person said, as the thread keeps it. Files are named, because silence about them would be a lie. */
export function personRecord(message: IncomingMessage, person: Person, source: EventSource, at: number): MessageRecord {
  const files = message.attachments.map(
    ({ name, mimeType, bytes }) => `[attached: ${JSON.stringify(name)}, ${mimeType}, ${bytes} bytes; not readable yet]`,
  )
  const content = [message.text, ...files].filter((part) => part.trim()).join('\n\n')
  return {
    v: 1,
    kind: 'message',
    at,
    message: { role: 'user', content },
    author: { id: person.id, name: person.name },
    source,
  }
}

/** The message as the model sees it: with the name of who said it. */
export function userMessageOf(record: MessageRecord): UserMessage {
  return modelMessage(record) as UserMessage
}

/**
 * A mention in the middle of people's talk brings the newest of that talk along, marked as background. Where the platform
 * does not give it, the run goes on without.
 */
export async function recordBackground(open: OpenThread, message: IncomingMessage, log: Log): Promise<void> {
  let history: Awaited<ReturnType<OpenThread['platform']['history']>>
  try {
    history = await open.platform.history(open.ref, message.ref, BACKGROUND_MESSAGES)
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind === 'unavailable' || error.kind === 'rateLimited') throw error
    log.warn({ thread: open.key, error }, 'the earlier messages of the thread could not be read')
    return
  }
  const lines = history.messages
    .filter(({ author }) => !author.isSelf)
    // Further lines are indented: a line of somebody's text must not look like the next speaker.
    .map(({ author, text }) => `${speaker(author)}: ${text.replaceAll(/\r\n|\r|\n/g, '\n    ')}`)
  if (lines.length === 0) return
  const whole = lines.join('\n')
  const kept = whole.slice(-BACKGROUND_CHARACTERS)
  const note = history.cut || kept.length < whole.length ? '(older messages are left out)\n' : ''
  await open.append({
    v: 1,
    kind: 'message',
    at: open.now(),
    message: { role: 'user', content: note + kept },
    background: true,
  })
}
