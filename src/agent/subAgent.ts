import type { BaseClient } from '../client/baseClient.ts'
import type { PromptManager, Variables } from '../prompt/promptManager.ts'
import type { Message } from '../shared/message.ts'
import type { ToolManager } from '../tool/toolManager.ts'
import { streamReact } from './react.ts'
import type { ReactOptions } from './reactOptions.ts'

export interface SubAgentOptions {
  name: string
  /** May be another model than the main agent's. */
  client: BaseClient
  /** Its own tools. Calls that need a person's yes are denied: a sub-agent never waits for people. */
  toolManager: ToolManager
  promptManager: PromptManager
  promptName: string
  promptKey: string
  /** For the placeholders of its prompt, beside `input` in the `user` text. */
  variables?: Variables
  /** Default 8. */
  maxSteps?: number
}

/** What one run of a sub-agent may be given beside its input; each as in `ReactOptions`. */
export type SubAgentRun = Pick<
  ReactOptions,
  'signal' | 'params' | 'wording' | 'onMessage' | 'onToolCall' | 'onToolResult' | 'onRestart'
> & {
  /** What its tools know of their surroundings. */
  surroundings?: ReactOptions['context']
  /** Put in front of the keys of its calls, so that they are unique beside those of the caller. Default: its name. */
  callKeyPrefix?: string
}

const CONTEXT_HEADING = '## Context'

/**
 * An agent of its own with its own prompt, tools and perhaps model. Every run starts from fresh messages, the system prompt
 * and the input, and never sees the caller's history. Keeps nothing between runs; several may be under way at once.
 */
export class SubAgent {
  readonly name: string
  readonly client: BaseClient
  readonly #options: SubAgentOptions

  constructor(options: SubAgentOptions) {
    this.name = options.name
    this.client = options.client
    this.#options = options
  }

  /** What it is for, from its prompt file. */
  get description(): string {
    const { promptManager, promptName, promptKey } = this.#options
    return promptManager.getPrompt(promptName, promptKey).description
  }

  /**
   * Works on an input: yields text pieces, returns the answer. `context`, if given, is added to the end of the system prompt
   * under a heading of its own. Throws what `streamReact` throws, except `Suspended`.
   */
  async *stream(input: string, context?: string, run: SubAgentRun = {}): AsyncGenerator<string, string> {
    const { toolManager, maxSteps = 8 } = this.#options
    const { surroundings, callKeyPrefix = this.name, ...rest } = run
    const messages = this.#firstMessages(input, context)
    return yield* streamReact({
      ...rest,
      client: this.client,
      messages,
      toolManager: toolManager.withoutPeople(),
      maxSteps,
      callKey: (assistant, index) => `${callKeyPrefix}/${messages.indexOf(assistant)}:${index}`,
      ...(surroundings ? { context: surroundings } : {}),
    })
  }

  /** The answer alone. */
  async run(input: string, context?: string, run: SubAgentRun = {}): Promise<string> {
    const stream = this.stream(input, context, { onRestart: () => {}, ...run })
    while (true) {
      const { done, value } = await stream.next()
      if (done) return value
    }
  }

  #firstMessages(input: string, context: string | undefined): Message[] {
    const { promptManager, promptName, promptKey, variables } = this.#options
    const [system, user] = promptManager.render(promptName, promptKey, { ...variables, input })
    const content = context?.trim() ? `${system.content.trimEnd()}\n\n${CONTEXT_HEADING}\n${context}` : system.content
    return [{ role: 'system', content }, user ?? { role: 'user', content: input }]
  }
}
