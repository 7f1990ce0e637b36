import { setTimeout as delay } from 'node:timers/promises'
import type { AckFn, App, ViewResponseAction, ViewSubmitAction } from '@slack/bolt'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Wording } from '../../shared/wording/wording.ts'
import type { Dialog, PlatformInbox, Submission, SubmitAnswer } from '../platform.ts'
import { incomingClick, type SlackBlockActions } from './click.ts'
import { DIALOG_CALLBACK, incomingSubmission, type SlackViewSubmission } from './dialog.ts'
import type { InboundContext } from './inbound.ts'

export interface InteractingOptions {
  context: InboundContext
  inbox: PlatformInbox
  log: Log
  wordsFor(personId: string): Wording
  /** Says something to one person alone; `token` is a `response_url`. Resolves to false where that can't be. */
  tell(thread: ThreadRef, personId: string, markdown: string, token?: string): Promise<boolean>
  openDialog(triggerId: string, dialog: Dialog, thread: ThreadRef): Promise<void>
}

/** After 3 seconds without an acknowledgement Slack shows the person a warning; a slow click is acknowledged before. */
const ACKNOWLEDGE_AFTER_MS = 2_000
const ANSWER_WITHIN_MS = 2_900
const LONGEST_ERROR = 1_000

/** Presses of buttons, and dialogs that were sent off. Neither is ever sent again by Slack, so all failures are told. */
export function hearInteractions(app: App, options: InteractingOptions): void {
  const { context, inbox, log, wordsFor, tell, openDialog } = options

  async function onClick(body: SlackBlockActions, ack: () => Promise<void>): Promise<void> {
    const click = incomingClick(body, context)
    if (!click) return ack()
    const { thread, author } = click
    const say = (text: string) => tell(thread, author.id, text, body.response_url)
    const failed = (error: unknown, what: string) => {
      log.error({ error, thread: thread.id, action: click.action }, what)
      return say(wordsFor(author.id).clickFailed)
    }
    const answering = inbox.click(click)
    await Promise.race([answering.catch(() => {}), delay(ACKNOWLEDGE_AFTER_MS, undefined, { ref: false })])
    await ack().catch((error: unknown) => log.debug({ reason: messageOf(error) }, 'a click was not acknowledged'))
    try {
      const { dialog, text } = await answering
      if (dialog) {
        await openDialog(body.trigger_id ?? '', dialog, thread).catch((error: unknown) =>
          failed(error, 'a dialog could not be opened'),
        )
      }
      if (text) await say(text)
    } catch (error) {
      await failed(error, 'a click was not taken')
    }
  }

  /** Acknowledged only with the answer of the inbox: until then the dialog stays, with all that was typed into it. */
  async function onSubmission(body: SlackViewSubmission, ack: AckFn<ViewResponseAction>): Promise<void> {
    const submission = incomingSubmission(body, context)
    if (!submission) {
      log.warn({}, 'a dialog was sent off that is none of ours')
      return ack()
    }
    const began = performance.now()
    const answer = await inbox.submit(submission).catch((error: unknown): SubmitAnswer => {
      log.error({ error, thread: submission.thread.id, action: submission.action }, 'a dialog was not taken')
      return { errors: { '': wordsFor(submission.author.id).clickFailed } }
    })
    const { text, errors } = privateAndInside(answer, submission, performance.now() - began > ANSWER_WITHIN_MS)
    const acknowledged = errors ? ack({ response_action: 'errors', errors }) : ack()
    await acknowledged.catch((error: unknown) =>
      log.debug({ reason: messageOf(error) }, 'a dialog was not acknowledged'),
    )
    if (text) await tell(submission.thread, submission.author.id, text)
  }

  app.action(/.*/, ({ body, ack }) => onClick(body as unknown as SlackBlockActions, ack))
  app.view<ViewSubmitAction>({ type: 'view_submission', callback_id: DIALOG_CALLBACK }, ({ body, ack }) =>
    onSubmission(body as SlackViewSubmission, ack),
  )
}

/**
 * What is said to the person alone, and what stands in the dialog. An error of a field that the dialog does not have goes to
 * its first one, since Slack refuses names it does not know. An answer that comes too late for the dialog is said alone.
 */
function privateAndInside(
  { text, errors = {} }: SubmitAnswer,
  { fields }: Submission,
  late: boolean,
): { text: string | undefined; errors?: Record<string, string> } {
  const names = Object.keys(fields)
  const lines = Object.entries(errors)
  if (lines.length === 0) return { text }
  if (late || names.length === 0) {
    return { text: [...(text ? [text] : []), ...lines.map(([, line]) => line)].join('\n') }
  }
  const inside: Record<string, string> = {}
  for (const [name, line] of lines) {
    const field = names.includes(name) ? name : names[0]!
    inside[field] = [...(inside[field] ? [inside[field]] : []), line].join(' ').slice(0, LONGEST_ERROR)
  }
  return { text, errors: inside }
}
