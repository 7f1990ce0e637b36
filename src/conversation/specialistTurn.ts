import { modelView } from '../session/view.ts'
import { type AssistantMessage, textOf } from '../shared/message.ts'
import { addCall, noTotals } from './footer.ts'
import type { OpenThread } from './openThread.ts'
import { drain, type Specialist, type Turn } from './turnParts.ts'

/** A specialist answers a command in the main agent's place; its answer stands in the thread like any other. */
export async function specialistTurn(turn: Turn, specialist: Specialist): Promise<void> {
  const { open, parts, signal, asked, piece, restart, save, saveEmpty } = turn
  const startedAt = open.now()
  const totals = noTotals()
  const stream = specialist.stream(textOf(asked!.message), earlierTalk(open), {
    signal,
    params: { onLostCall: ({ model, usage }) => parts.countCall({ model, usage, purpose: 'subagent' }) },
    onRestart: restart,
    wording: open.wording,
    surroundings: { threadKey: open.key, requester: asked!.author ?? null, workspace: parts.workspace },
    onMessage: async (_message, meta) => {
      if (!meta.usage || !meta.model) return
      addCall(totals, meta)
      await parts.countCall({ model: meta.model, usage: meta.usage, purpose: 'subagent' })
    },
  })
  const answer = await drain(stream, piece)
  if (answer.trim() === '') return saveEmpty()
  const message: AssistantMessage = { role: 'assistant', content: answer }
  const durationMs = open.now() - startedAt
  const { model } = specialist
  await save({ v: 1, kind: 'message', at: open.now(), message, model, durationMs, usage: totals.usage })
}

/** How much of the thread's talk a specialist is given along. */
const CONTEXT_CHARACTERS = 6_000

/** The newest talk of the thread, for a specialist that never sees the history itself. */
function earlierTalk(open: OpenThread): string | undefined {
  const talk = modelView(open.thread)
    .messages.slice(0, -1)
    .filter(({ role }) => role === 'user' || role === 'assistant')
    .map((message) => textOf(message))
    .filter((text) => text.trim())
    .join('\n\n')
  return talk ? talk.slice(-CONTEXT_CHARACTERS) : undefined
}
