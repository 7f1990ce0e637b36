import type { ChatPlatform, MessageBody, StreamEnd, Streaming } from '../../src/platform/platform.ts'
import { PlatformError } from '../../src/shared/errors.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import type { Clock, createSimulatedPlatform } from './deliverySimulation.ts'

const STREAM_LIMITS = { longestMs: 240_000, most: 2_000, intervalMs: 600 }

/** What becomes of a call of a stream beyond what the simulated platform does to all calls. */
export type StreamFate = (call: 'start' | 'add' | 'end', count: number) => PlatformError | undefined

/**
 * A simulated platform whose texts can also grow by additions, with Slack's rules: an open stream's message is edited only
 * after its end, which `edit` brings about; a stream is over after five minutes.
 */
export function withStreams(
  clock: Clock,
  simulated: ReturnType<typeof createSimulatedPlatform>,
  options: { fate?: StreamFate; limits?: Partial<typeof STREAM_LIMITS>; print?: (markdown: string) => string } = {},
) {
  const { platform, violations } = simulated
  const { fate = () => undefined, print = (markdown: string) => markdown } = options
  const open = new Map<string, { text: string; at: number }>()
  /** Messages that carry a key, or that were edited: nobody takes them for lost. */
  const marked = new Set<string>()
  const counts = { start: 0, add: 0, end: 0 }

  const body = (markdown: string, more: object = {}): MessageBody => ({ markdown, kind: 'answer', ...more })
  const refuse = (call: keyof typeof counts) => {
    const error = fate(call, ++counts[call])
    if (error) throw error
  }
  const streamOf = (ref: MessageRef) => {
    const stream = open.get(ref.id)
    if (!stream || clock.now() - stream.at > 300_000) {
      throw new PlatformError('invalid', 'message_not_in_streaming_state', 'it is over')
    }
    return stream
  }
  const check = (text: string) => {
    if (text === '') violations.push('nothing was added')
  }

  const streaming: Streaming = {
    ...STREAM_LIMITS,
    ...options.limits,
    isOffered: () => true,
    weight: (text) => text.length,
    print,
    async start(thread: ThreadRef, text: string) {
      check(text)
      refuse('start')
      const ref = await platform.post(thread, body(text, { live: true }), { key: `stream ${counts.start}` })
      open.set(ref.id, { text, at: clock.now() })
      return ref
    },
    async add(thread: ThreadRef, ref: MessageRef, text: string) {
      check(text)
      refuse('add')
      const stream = streamOf(ref)
      await platform.edit(thread, ref, body(stream.text + text, { live: true }))
      stream.text += text
    },
    async end(thread: ThreadRef, ref: MessageRef, { text, footer, buttons }: StreamEnd) {
      refuse('end')
      const stream = streamOf(ref)
      await platform.edit(
        thread,
        ref,
        body(stream.text + text, { ...(footer && { footer }), ...(buttons && { buttons }) }),
      )
      open.delete(ref.id)
      marked.add(ref.id)
    },
    async findLost(_thread, known) {
      const lost = simulated.visible().findLast(({ ref, key }) => {
        return key.startsWith('stream') && !marked.has(ref.id) && !known.some(({ id }) => id === ref.id)
      })
      return lost?.ref ?? null
    },
  }
  const streamed: ChatPlatform = {
    ...platform,
    streaming,
    async edit(thread, ref, newBody) {
      await platform.edit(thread, ref, newBody)
      open.delete(ref.id)
      marked.add(ref.id)
    },
  }
  return { platform: streamed, counts, isOpen: (id: string) => open.has(id) }
}
