import { streamReact } from '../agent/react.ts'
import { modelView } from '../session/view.ts'
import { ModelError } from '../shared/errors.ts'
import { type AssistantMessage, type Message, unanswered } from '../shared/message.ts'
import { callKey } from './showRecords.ts'
import { drain, type Turn } from './turnParts.ts'

/**
 * The main agent answers. A thread that has grown too long is compacted first; where the model server finds it too long all
 * the same, it is compacted once more and asked again.
 */
export async function agentTurn(turn: Turn): Promise<void> {
  const { open, parts, signal } = turn
  const { toolManager, systemPrompt, countCall } = parts
  const options = { signal, toolManager, systemPrompt, countCall }
  // A run that goes on with open calls is not compacted: they and their results belong together.
  const waits = unanswered(modelView(open.thread).messages).length > 0
  if (!waits) await parts.compact(open, { ...options, overflow: false })
  try {
    await runLoop(turn)
  } catch (error) {
    if (!(error instanceof ModelError) || error.kind !== 'contextOverflow') throw error
    turn.restart()
    if ((await parts.compact(open, { ...options, overflow: true })) === 'none') throw error
    await runLoop(turn)
  }
}

/** The loop over the thread as the model sees it; calling it again resumes. */
async function runLoop({ open, parts, signal, asked, piece, restart, save, saveEmpty }: Turn): Promise<void> {
  const view = modelView(open.thread)
  const messages: Message[] = [{ role: 'system', content: parts.systemPrompt }, ...view.messages]
  const seqs = new Map<Message, number>()
  for (const message of view.messages) {
    const seq = view.seqOf(message)
    if (seq !== undefined) seqs.set(message, seq)
  }
  const loop = streamReact({
    client: parts.client,
    messages,
    toolManager: parts.toolManager,
    maxSteps: parts.maxSteps,
    signal,
    wording: open.wording,
    callKey: (assistant: AssistantMessage, index: number) => callKey(seqs.get(assistant)!, index),
    context: { threadKey: open.key, requester: asked?.author ?? null, workspace: parts.workspace },
    params: {
      cacheKey: open.key.slice(-64),
      onLostCall: ({ model, usage }) => parts.countCall({ model, usage, purpose: 'agent' }),
    },
    isSteering: view.isSteering,
    nextInput: parts.nextInput,
    onRestart: restart,
    onMessage: async (message, { usage, model, durationMs, failed }) => {
      if (usage && model) await parts.countCall({ model, usage, purpose: 'agent' })
      seqs.set(message, open.thread.nextSeq)
      await save({
        v: 1,
        kind: 'message',
        at: open.now(),
        message,
        ...(usage && { usage }),
        ...(model && { model }),
        ...(durationMs !== undefined && { durationMs }),
        ...(failed && { failed }),
      })
    },
    onToolCall: (name, args, key) => {
      open.view.toolCall(key, name, args).catch((error) => parts.log.error({ error }, 'a call could not be shown'))
    },
  })
  const answer = await drain(loop, piece)
  if (answer.trim() === '') await saveEmpty()
}
