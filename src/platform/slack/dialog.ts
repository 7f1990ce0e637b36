import type { InputBlock, ModalView, SectionBlock } from '@slack/types'
import { cut } from '../../render/graphemes.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { ThreadRef } from '../../shared/thread.ts'
import type { Dialog, DialogField, Submission } from '../platform.ts'
import { actorOf, type SlackActor } from './click.ts'
import { type InboundContext, rootOf, threadRef } from './inbound.ts'

/** What Slack takes in a modal (facts/slack.md A.1; types of views). */
const LIMITS = { title: 24, intro: 3_000, label: 2_000, blocks: 100, input: 3_000, metadata: 3_000 } as const

/** By this Slack tells which of an app's views was sent off. */
export const DIALOG_CALLBACK = 'toycoder:dialog'
/** A block holds one input, so that this can be the same in each. */
const INPUT_ACTION = 'input'

/** What a view carries for us from its opening to its submission: a view knows nothing of channels and threads. */
interface Carried {
  channel: string
  root: string
  action: string
  value: string
}

/**
 * A dialog as Slack opens it. Its blocks are named like its fields.
 * Throws a `PlatformError` of the kind `tooLong` for what does not fit: a cut command would be another command.
 */
export function viewOf(dialog: Dialog, thread: ThreadRef): ModalView {
  const carried: Carried = {
    channel: thread.channel,
    root: rootOf(thread),
    action: dialog.action,
    value: dialog.value,
  }
  const metadata = JSON.stringify(carried)
  const blocks = [...(dialog.intro ? [intro(dialog.intro)] : []), ...dialog.fields.map(inputFor)]
  const fits =
    metadata.length <= LIMITS.metadata &&
    blocks.length <= LIMITS.blocks &&
    dialog.fields.every(({ value }) => value.length <= LIMITS.input)
  if (!fits) throw new PlatformError('tooLong', 'view_too_large', `the dialog "${dialog.title}" is too large for Slack`)
  return {
    type: 'modal',
    callback_id: DIALOG_CALLBACK,
    private_metadata: metadata,
    title: plain(dialog.title, LIMITS.title),
    submit: plain(dialog.submit, LIMITS.title),
    close: plain(dialog.close, LIMITS.title),
    blocks,
  }
}

function intro(text: string): SectionBlock {
  return { type: 'section', text: plain(text, LIMITS.intro) }
}

function inputFor({ name, label, value, multiline, required }: DialogField): InputBlock {
  return {
    type: 'input',
    block_id: name,
    label: plain(label, LIMITS.label),
    optional: !required,
    element: {
      type: 'plain_text_input',
      action_id: INPUT_ACTION,
      multiline,
      max_length: LIMITS.input,
      // Slack takes no empty one.
      ...(value !== '' && { initial_value: value }),
    },
  }
}

function plain(text: string, longest: number) {
  return { type: 'plain_text', text: cut(text, longest), emoji: false } as const
}

/** The parts of a `view_submission` payload that matter here. */
export interface SlackViewSubmission {
  user: SlackActor
  trigger_id?: string
  view: {
    id: string
    private_metadata?: string
    state: { values: Record<string, Record<string, { value?: string | null }>> }
  }
}

/**
 * A dialog of ours that was sent off, with the fields as they were typed. Where it belongs is only what we wrote into the
 * view; null where that is not to be read.
 */
export function incomingSubmission(body: SlackViewSubmission, context: InboundContext): Submission | null {
  const carried = readCarried(body.view.private_metadata)
  if (!carried) return null
  const { team } = context.self
  const values = Object.entries(body.view.state.values)
  return {
    // Each time that the same view is sent off comes with another trigger.
    id: `${team}:submit:${body.view.id}:${body.trigger_id ?? context.now()}`,
    thread: threadRef(team, carried.channel, carried.root),
    author: actorOf(body.user, context),
    action: carried.action,
    value: carried.value,
    fields: Object.fromEntries(values.map(([name, inputs]) => [name, inputs[INPUT_ACTION]?.value ?? ''])),
    at: context.now(),
  }
}

function readCarried(metadata: string | undefined): Carried | null {
  try {
    const { channel, root, action, value } = JSON.parse(metadata ?? '') as Record<string, unknown>
    const whole = [channel, root, action, value].every((part) => typeof part === 'string')
    return whole ? ({ channel, root, action, value } as Carried) : null
  } catch {
    return null
  }
}
