import type {
  ChatPlatform,
  Click,
  ClickAnswer,
  IncomingCommand,
  IncomingMessage,
  PlatformInbox,
  Submission,
  SubmitAnswer,
} from '../../src/platform/platform.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'

/**
 * A conversation without a model: it hears what the console hands over, once per event id, and says what a test tells it
 * to say, with the same calls that the real one makes.
 */
export function fakeConversation(platform: () => ChatPlatform) {
  const messages: IncomingMessage[] = []
  const commands: IncomingCommand[] = []
  const clicks: Click[] = []
  const submissions: Submission[] = []
  const seen = new Set<string>()
  let answer: (thread: ThreadRef, event: IncomingMessage | IncomingCommand) => void = () => {}
  let onClick = async ({ action }: Click): Promise<ClickAnswer> => ({ text: `You pressed ${action}.` })
  let onSubmit = async (_: Submission): Promise<SubmitAnswer> => ({})
  let posts = 0

  async function hear<T extends IncomingMessage | IncomingCommand>(event: T, kept: T[]) {
    if (seen.has(event.id)) return { outcome: 'duplicate' as const }
    seen.add(event.id)
    kept.push(event)
    answer(event.thread!, event)
    return { outcome: 'accepted' as const }
  }

  const inbox: PlatformInbox = {
    message: (message) => hear(message, messages),
    command: (command) => hear(command, commands),
    async click(click) {
      clicks.push(click)
      return onClick(click)
    },
    async submit(submission) {
      submissions.push(submission)
      return onSubmit(submission)
    },
    stop: async () => ({ outcome: 'ignored' }),
    followed: async () => [],
  }

  return {
    inbox,
    messages,
    commands,
    clicks,
    submissions,
    onClick(reaction: typeof onClick) {
      onClick = reaction
    },
    onSubmit(reaction: typeof onSubmit) {
      onSubmit = reaction
    },
    /** What happens when something arrives; it goes on beside the request, as a run does. */
    onEvent(reaction: typeof answer) {
      answer = reaction
    },
    post: (thread: ThreadRef, markdown: string, more: object = {}): Promise<MessageRef> =>
      platform().post(thread, { markdown, kind: 'answer', ...more }, { key: `k${posts++}` }),
    edit: (thread: ThreadRef, ref: MessageRef, markdown: string, more: object = {}): Promise<void> =>
      platform().edit(thread, ref, { markdown, kind: 'answer', ...more }),
  }
}
