import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Message } from '../shared/message.ts'
import { BaseClient, type ChatParams, type ChatResponse } from './baseClient.ts'
import { nextMove } from './demoRepertoire.ts'
import { abortError } from './modelErrors.ts'

export interface DemoClientOptions {
  /** The pace: milliseconds before each piece. Default 15. */
  pieceDelayMs?: number
  /** For tests: waits, and rejects when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/**
 * Stands in where no model is configured: plays a small fixed repertoire through the real loop and the real tools, so that
 * everything around a model can be seen. It says in every answer that it is no language model, and how to get one.
 */
export class DemoClient extends BaseClient {
  readonly model = 'demo'
  readonly #pieceDelayMs: number
  readonly #wait: NonNullable<DemoClientOptions['wait']>

  constructor({ pieceDelayMs = 15, wait = pause }: DemoClientOptions = {}) {
    super()
    this.#pieceDelayMs = pieceDelayMs
    this.#wait = wait
  }

  async chat(messages: readonly Message[], params: ChatParams = {}): Promise<ChatResponse> {
    const stream = this.streamChat(messages, params)
    while (true) {
      const { done, value } = await stream.next()
      if (done) return value
    }
  }

  async *streamChat(messages: readonly Message[], params: ChatParams = {}): AsyncGenerator<string, ChatResponse> {
    const { signal } = params
    const move = nextMove(messages, new Set(params.tools?.map((tool) => tool.function.name)))
    for (const piece of move.text.match(/\s*\S{1,12}\s*/g) ?? []) {
      await this.#wait(this.#pieceDelayMs, signal)
      if (signal?.aborted) throw abortError(signal)
      yield piece
    }
    if (signal?.aborted) throw abortError(signal)
    return {
      content: move.text,
      toolCalls: move.calls.map(({ name, args }) => ({
        id: `demo_${randomUUID().slice(0, 18)}`,
        name,
        arguments: JSON.stringify(args),
      })),
      usage: {},
      model: this.model,
      finish: move.calls.length > 0 ? 'toolCalls' : 'stop',
    }
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await sleep(ms, undefined, signal ? { signal } : {})
  } catch (error) {
    throw signal?.aborted ? abortError(signal) : error
  }
}
