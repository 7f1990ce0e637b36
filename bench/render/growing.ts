import { createEditScheduler } from '../../src/delivery/editScheduler.ts'
import { createLiveText } from '../../src/delivery/liveText.ts'
import { createPatience } from '../../src/delivery/patience.ts'
import { toEdit } from '../../src/platform/discord/payload.ts'
import type { ChatPlatform, MessageBody } from '../../src/platform/platform.ts'
import { payloadOf } from '../../src/platform/slack/payload.ts'
import { DISCORD_LIMITS, discordSize } from '../../src/render/discord.ts'
import { SLACK_LIMITS, slackSize } from '../../src/render/slack.ts'
import { silentLog } from '../../src/shared/log.ts'
import { createClock, createMemoryOutbox, THREAD } from '../../test/unit/deliverySimulation.ts'

/** Frames of an answer that grows, through the path of a live answer; the platform takes each at once, by JSON. */

export const PIECE = 12

const SIDES = {
  slack: { limit: SLACK_LIMITS.text, size: slackSize, payload: (body: MessageBody): unknown => payloadOf(body) },
  discord: { limit: DISCORD_LIMITS.content, size: discordSize, payload: (body: MessageBody): unknown => toEdit(body) },
}
export type Side = keyof typeof SIDES

export interface Growth {
  messages: number
  sent: number
  /** Milliseconds of the main thread and of the clock on the wall, from a piece to the payload that shows it. */
  cpu: number[]
  wall: number[]
  /** Of the final text: cut, measured and sent where it was not shown yet. */
  settleCpuMs: number
}

export async function grow(side: Side, text: string): Promise<Growth> {
  const { limit, size, payload } = SIDES[side]
  const clock = createClock()
  const refs = new Set<string>()
  let sent = 0
  const send = (body: MessageBody) => {
    sent += JSON.stringify(payload(body)) === '' ? 0 : 1
  }
  const platform = {
    name: side,
    limits: { text: limit, calls: [], editIntervalMs: 0 },
    streaming: null,
    size,
    async post(_thread: unknown, body: MessageBody, { key }: { key: string }) {
      send(body)
      refs.add(key)
      return { channel: THREAD.channel, id: String(refs.size) }
    },
    async edit(_thread: unknown, _ref: unknown, body: MessageBody) {
      send(body)
    },
    async remove() {},
  } as unknown as ChatPlatform
  const edits = createEditScheduler({ limits: platform.limits, now: clock.now, setTimer: clock.setTimer })
  const live = createLiveText('bench', {
    platform,
    thread: THREAD,
    outbox: createMemoryOutbox().outbox,
    edits,
    patience: createPatience(clock.setTimer),
    inOrder: (post) => post(),
    log: silentLog,
    liveButtons: [{ action: 'stop', label: 'Stop', style: 'danger', value: '' }],
  })
  const growth: Growth = { messages: 0, sent: 0, cpu: [], wall: [], settleCpuMs: 0 }
  for (let at = 0; at < text.length; at += PIECE) {
    const [cpu, wall] = [cpuMs(), performance.now()]
    live.add(text.slice(at, at + PIECE))
    await clock.advance(1)
    growth.cpu.push(cpuMs() - cpu)
    growth.wall.push(performance.now() - wall)
  }
  const before = cpuMs()
  await clock.until(live.settle(text, { footer: 'model · 20 s' }))
  growth.settleCpuMs = cpuMs() - before
  await live.rest()
  edits.stop()
  return { ...growth, messages: refs.size, sent }
}

/** Milliseconds that this thread has computed: what other processes take of the machine does not count. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** An answer of the kinds of blocks that models write. */
export function answerOf(length: number): string {
  const prose =
    'A **paragraph** with `code`, a [link](https://e.example/a_(b)), 中文 and *emphasis* that goes on for a while. '
  const blocks = [
    prose.repeat(5),
    '## A heading with `code`',
    '- one item\n- two **items**\n  - nested, with a [link](https://e.example)\n- three',
    `\`\`\`ts\nexport function sum(a: number, b: number) {\n${'  console.log(a + b) // as said above\n'.repeat(14)}}\n\`\`\``,
    `| name | count | note |\n|---|--:|---|\n${'| cell one | 12 | `code` and **more** |\n'.repeat(9)}`,
    '> quoted text with **bold** in it\n> and a second line',
    '1. first\n2. second\n\n   with a paragraph\n3. third',
    prose.repeat(12),
  ]
  let text = ''
  for (let at = 0; text.length < length; at++) text += `${blocks[at % blocks.length]}\n\n`
  return text.slice(0, length)
}
