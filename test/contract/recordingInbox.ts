import type {
  Click,
  ClickAnswer,
  FollowedThread,
  IncomingCommand,
  IncomingMessage,
  IncomingStop,
  PlatformInbox,
  Receipt,
  Submission,
  SubmitAnswer,
} from '../../src/platform/platform.ts'

/** An inbox as the real one behaves towards a platform: each message once, by its id or any alias, and it can fail. */
export interface RecordingInbox extends PlatformInbox {
  /** Each message once. */
  readonly messages: IncomingMessage[]
  /** Every delivery, duplicates and refused ones included. */
  readonly deliveries: IncomingMessage[]
  readonly commands: IncomingCommand[]
  readonly clicks: Click[]
  /** The next `times` deliveries of any kind reject, as if the store had failed. */
  failNext(times: number): void
  /** Each delivery waits for this before it is stored. */
  before: (() => Promise<void>) | undefined
  /** What the next messages and commands are answered; `accepted` or `duplicate` unless set. */
  receipt: Receipt | undefined
  /** What clicks are answered. */
  answer: ClickAnswer
  readonly submissions: Submission[]
  /** What dialogs that were sent off are answered. */
  submitAnswer: SubmitAnswer
  readonly stops: IncomingStop[]
  followedThreads: FollowedThread[]
  /** Resolves with the first `count` messages; rejects when they do not come in time. */
  received(count: number, timeoutMs?: number): Promise<IncomingMessage[]>
}

export function createRecordingInbox(): RecordingInbox {
  const seen = new Set<string>()
  let failures = 0

  async function admit(): Promise<void> {
    await inbox.before?.()
    if (failures === 0) return
    failures--
    throw new Error('the store is not there')
  }

  const inbox: RecordingInbox = {
    messages: [],
    deliveries: [],
    commands: [],
    clicks: [],
    before: undefined,
    receipt: undefined,
    answer: {},
    submissions: [],
    submitAnswer: {},
    stops: [],
    followedThreads: [],
    failNext(times) {
      failures = times
    },
    async message(message) {
      inbox.deliveries.push(message)
      await admit()
      if (inbox.receipt) return inbox.receipt
      const ids = [message.id, ...message.aliases]
      const known = ids.some((id) => seen.has(id))
      for (const id of ids) seen.add(id)
      if (known) return { outcome: 'duplicate' }
      inbox.messages.push(message)
      return { outcome: 'accepted' }
    },
    async command(command) {
      await admit()
      inbox.commands.push(command)
      return inbox.receipt ?? { outcome: 'accepted' }
    },
    async click(click) {
      await admit()
      inbox.clicks.push(click)
      return inbox.answer
    },
    async submit(submission) {
      await admit()
      inbox.submissions.push(submission)
      return inbox.submitAnswer
    },
    async stop(stop) {
      await admit()
      inbox.stops.push(stop)
      return { outcome: 'accepted' }
    },
    followed: async () => inbox.followedThreads,
    async received(count, timeoutMs = 8_000) {
      await until(() => inbox.messages.length >= count, `${count} message(s) in the inbox`, timeoutMs)
      return inbox.messages.slice(0, count)
    },
  }
  return inbox
}

/** Waits until `condition` holds, looking every 10 ms; rejects with what was waited for when it does not in time. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 8_000,
): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
