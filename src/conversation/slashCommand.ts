import type { IncomingCommand } from '../platform/platform.ts'
import type { Thread } from '../session/thread.ts'
import { PlatformError } from '../shared/errors.ts'
import { threadKey } from '../shared/thread.ts'
import { mayUse } from './access.ts'
import { titleOf } from './door.ts'
import { commandAsMessage, specialistOf } from './incoming.ts'
import { appender, mark } from './openThread.ts'
import type { ConversationParts } from './parts.ts'

/**
 * A slash command typed outside of any thread: opens the thread in which it is answered and hands the command on to it.
 * Opening is idempotent by the command's id and so is the delivery, so this can be cut and repeated anywhere.
 */
export async function startThreadFor(key: string, thread: Thread, parts: ConversationParts): Promise<void> {
  const { inbox, threads, platforms, log, now = Date.now } = parts
  const append = appender(threads, thread)
  for (const { slot, event } of await inbox.read(key, thread.nextSlot)) {
    if (event.kind === 'command') await start(event.command, parts)
    else log.error({ thread: key }, 'a message lies in the inbox of a command; it is passed over')
    await append(mark(now(), { mark: 'handled', what: 'opened', source: { eventId: event.id, slot } }))
  }
  await inbox.close(key, thread.nextSlot)
  await inbox.trim(key, thread.nextSlot)

  async function start(command: IncomingCommand, { access, wordingOf, commands }: ConversationParts): Promise<void> {
    const platform = platforms.of(command.place)
    const person = await platform.person(command.place.account, command.author.id)
    const wording = wordingOf(person.locale)
    const tell = (text: string) => platform.whisper(command.place, person.id, text, { token: command.token })
    if (!mayUse(access, person)) return void (await tell(wording.notAllowed))

    const asked = commands.parse(`${command.name === 'toycoder' ? '' : `${command.name} `}${command.text}`, 'mention')
    const specialist = asked && specialistOf(asked.command.name)
    if (!specialist) return void (await tell(commands.helpText(wording)))
    if (asked.args === '') return void (await tell(wording.commandWithoutTask(specialist)))

    try {
      const body = { markdown: wording.askedFor(person.name, specialist, asked.args), kind: 'notice' as const }
      const opened = await platform.open(command.place, body, { key: `command:${command.id}`, inDoubt: true })
      await threads.ensureHead({ v: 1, ref: opened.thread, title: titleOf(asked.args), createdAt: now() })
      const message = {
        ...commandAsMessage({ ...command, name: specialist, text: asked.args }, opened.thread),
        ref: opened.ref,
      }
      await inbox.deliver(threadKey(opened.thread), { kind: 'message', id: message.id, aliases: [], message })
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== 'forbidden') throw error
      log.warn({ error }, 'a thread for a command could not be opened')
      await tell(wording.cannotOpenThread(error.mend ?? error.message))
    }
  }
}
