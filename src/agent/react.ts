import type { ChatResponse } from '../client/baseClient.ts'
import { ModelError } from '../shared/errors.ts'
import type { Message } from '../shared/message.ts'
import { wordingFor } from '../shared/wording/wording.ts'
import { answerOpenCalls } from './answerCalls.ts'
import { ask, assistantMessage } from './askModel.ts'
import { push, type ReactOptions, type Run } from './reactOptions.ts'
import { stuckCall } from './repetition.ts'
import { unfinishedNote } from './unfinished.ts'

/**
 * Thinks and acts until there is an answer: yields the text pieces of each model call as they come and returns the whole
 * final answer (the empty string when the model has nothing to say twice). To resume a run, call it again with its messages.
 * Throws `Suspended` when calls wait for people, an `AbortError` when `signal` aborts, and a `ModelError` as the client threw
 * it; `messages` stay valid in each case.
 */
export async function* streamReact(options: ReactOptions): AsyncGenerator<string, string> {
  const run = begin(options)
  while (true) {
    if (await answerOpenCalls(run)) {
      const stuck = stuckCall(messagesOf(run))
      if (stuck) return yield* conclude(run, run.wording.repeatedCall(stuck.function.name))
      run.messages.push(...((await run.nextInput?.()) ?? []))
    }
    if (stepsTaken(run) >= run.maxSteps) return yield* sumUp(run)
    const answer = yield* think(run)
    if (answer !== null) return answer
  }
}

/** The same run for callers that want the final answer only. A broken stream may start again, as nobody has seen its text. */
export async function runReact(options: ReactOptions): Promise<string> {
  const stream = streamReact({ onRestart: () => {}, ...options })
  while (true) {
    const { done, value } = await stream.next()
    if (done) return value
  }
}

function begin(options: ReactOptions): Run {
  const { messages } = options
  return {
    ...options,
    maxSteps: options.maxSteps ?? 16,
    signal: options.signal ?? new AbortController().signal,
    context: options.context ?? { threadKey: null, requester: null, workspace: '' },
    callKey: options.callKey ?? ((assistant, index) => `${messages.indexOf(assistant)}:${index}`),
    wording: options.wording ?? wordingFor(undefined),
    beginsAt: messages.findLastIndex((message) => endsRun(message) && !options.isSteering?.(message)) + 1,
  }
}

/** Steps are counted from the last answer, or from the message of a person that began the run. */
function endsRun(message: Message): boolean {
  return message.role !== 'tool' && !(message.role === 'assistant' && message.tool_calls?.length)
}

function messagesOf(run: Run): Message[] {
  return run.messages.slice(run.beginsAt)
}

function stepsTaken(run: Run): number {
  return messagesOf(run).filter((message) => message.role === 'assistant' && message.tool_calls?.length).length
}

/** One model call. Resolves to the answer, or to `null` when the model made calls instead. */
async function* think(run: Run): AsyncGenerator<string, string | null> {
  const tools = run.toolManager.toOpenAISchema()
  let usedUp = false
  for (let attempt = 1; attempt <= 2; attempt++) {
    const { response, meta } = yield* ask(run, run.messages, tools.length > 0 ? { tools } : {})
    const filtered = response.finish === 'filtered'
    const calls = filtered ? [] : response.toolCalls
    if (calls.length > 0) {
      await push(run, assistantMessage(response, calls), meta)
      return null
    }
    if (response.content.trim() !== '') {
      const content = response.content + (yield* unfinished(run, response))
      await push(run, assistantMessage({ ...response, content }, []), meta)
      return content
    }
    await run.params?.onLostCall?.(response)
    if (filtered) throw new ModelError('refused', 'the provider stopped the answer before it began')
    usedUp = response.finish === 'length'
  }
  // All of the output went into thinking.
  if (usedUp) return yield* conclude(run, run.wording.answerCut)
  // An empty assistant message is not stored: strict providers would refuse the whole history from then on.
  return ''
}

/** The last request of a run that has used up its steps: without tools, for a summary of what is done and what is left. */
async function* sumUp(run: Run): AsyncGenerator<string, string> {
  const warning = run.wording.stepLimit(run.maxSteps)
  const request: Message = {
    role: 'user',
    content: `The limit of ${run.maxSteps} steps is reached and no more tools can be used. Say briefly what is done and what is left, in the language of the conversation.`,
  }
  try {
    const { response, meta } = yield* ask(run, [...run.messages, request], {}, `${warning}\n\n`)
    if (response.content.trim() === '') {
      await run.params?.onLostCall?.(response)
      return yield* conclude(run, warning)
    }
    const content = `${warning}\n\n${response.content}${yield* unfinished(run, response)}`
    await push(run, assistantMessage({ ...response, content }, []), meta)
    return content
  } catch (error) {
    if (error instanceof ModelError) return yield* conclude(run, warning)
    throw error
  }
}

/** Yields and returns what people are told of a text that was cut off. */
async function* unfinished(run: Run, response: ChatResponse): AsyncGenerator<string, string> {
  const note = unfinishedNote(response, run.wording)
  if (note) yield note
  return note
}

/** An answer that the loop itself gives, saved before it is shown. */
async function* conclude(run: Run, answer: string): AsyncGenerator<string, string> {
  await push(run, { role: 'assistant', content: answer }, {})
  yield answer
  return answer
}
