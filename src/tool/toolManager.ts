import { isAbort, messageOf } from '../shared/errors.ts'
import { type Approver, PreviewError, type Verdict } from './approver.ts'
import { checkArguments, readArguments, toJsonSchema } from './arguments.ts'
import { errorText, observationOf } from './observation.ts'
import type { PermissionLevel } from './permission.ts'
import { READ_RESULT, type ResultKeeper, shorten } from './resultKeeper.ts'
import type { Dispatched, Tool, ToolContext, ToolSource } from './tool.ts'
import { untilStopped } from './untilStopped.ts'

export interface ToolManagerOptions {
  /** Asks people about calls that need their yes. Without one such calls are denied. */
  approver?: Approver
  /** Keeps results that are too long for the model. Without one the rest of such a result is lost, and the note says so. */
  keeper?: ResultKeeper
  /** Masks secrets in every observation, before it is cut, kept or shown. Default: nothing is masked. */
  mask?: (text: string) => string
  /** How long a tool may take to end after the run was stopped, in milliseconds. Default 2,000. */
  stopGraceMs?: number
}

export interface ToolInfo {
  name: string
  description: string
  /** `policy`: depends on who asks and on the arguments. */
  permission: PermissionLevel | 'policy'
  enabled: boolean
}

/** The form in which tools are offered to the model; the same as the client's `ToolSchema`. */
export interface OpenAITool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

/**
 * A call after all checks that come before running. `ready`: may run now, `alone` when nothing else of the step may run beside
 * it. `pending`: waits for people. `observation`: is answered already (unknown tool, refused, invalid …).
 */
export type Prepared = { kind: 'ready'; alone: boolean; run(): Promise<Dispatched> } | Dispatched

const STOP_GRACE_MS = 2_000

type Observation = Extract<Dispatched, { kind: 'observation' }>

/**
 * The tools of one run or thread: what there is, what is on, who may be asked, and what becomes of a call. Cheap to make.
 * Nothing a call does ends the run: whatever goes wrong is an observation. Only a failing approver rejects, because a store
 * that does not answer is no news for the model.
 */
export class ToolManager {
  readonly #tools = new Map<string, Tool>()
  readonly #sources: ToolSource[] = []
  /** What people switched; without an entry a tool is on unless it is dangerous. */
  readonly #switched = new Map<string, boolean>()
  readonly #approved = new Set<string>()
  readonly #schemas = new WeakMap<Tool, Record<string, unknown>>()
  readonly #options: ToolManagerOptions

  constructor(options: ToolManagerOptions = {}) {
    this.#options = options
  }

  /** Adds a tool. Throws for a name that is taken or that model APIs do not take, and for parameters that are no object. */
  register<Args>(tool: Tool<Args>): void {
    if (!/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/.test(tool.name)) {
      throw new Error(`"${tool.name}" can't name a tool: use at most 64 of a-z, A-Z, 0-9, _ and -, a letter or _ first`)
    }
    if (this.#tools.has(tool.name)) throw new Error(`there is already a tool named "${tool.name}"`)
    const known = tool as unknown as Tool
    if (this.#schemaOf(known).type !== 'object') throw new Error(`the parameters of "${tool.name}" must be an object`)
    this.#tools.set(tool.name, known)
  }

  /** Registers a function as a tool and hands the tool back. */
  tool<Args>(
    definition: Omit<Tool<Args>, 'invoke'>,
    run: (args: Args, context: ToolContext) => unknown | Promise<unknown>,
  ): Tool<Args> {
    const tool: Tool<Args> = { ...definition, invoke: async (args, context) => run(args, context) }
    this.register(tool)
    return tool
  }

  /**
   * Adds tools that come and go: the source is asked whenever tools are listed, offered or called. A registered tool is never
   * shadowed by one of a source, nor a source's by one of a later source.
   */
  addSource(source: ToolSource): void {
    this.#sources.push(source)
  }

  /** True when there is a tool of this name, on or off. */
  has(name: string): boolean {
    return this.#find(name) !== undefined
  }

  /** The tool of this name, on or off. */
  find(name: string): Tool | undefined {
    return this.#find(name)
  }

  /** Switches a tool on, a dangerous one too; throws for an unknown name. */
  enable(name: string): void {
    this.#switch(name, true)
  }

  /** Switches a tool off: it is neither offered nor run; throws for an unknown name. */
  disable(name: string): void {
    this.#switch(name, false)
  }

  #switch(name: string, on: boolean): void {
    if (!this.has(name)) throw new Error(`there is no tool named "${name}"`)
    this.#switched.set(name, on)
  }

  /** All tools, sorted by name. */
  listTools(): ToolInfo[] {
    return this.#sorted().map((tool) => ({
      name: tool.name,
      description: tool.description,
      permission: typeof tool.permission === 'function' ? 'policy' : tool.permission,
      enabled: this.#isOn(tool),
    }))
  }

  /** The tools that are on, in the model API's form; sorted by name, which keeps the prefix of prompts stable for caches. */
  toOpenAISchema(): OpenAITool[] {
    return this.#sorted()
      .filter((tool) => this.#isOn(tool))
      .map((tool) => ({
        type: 'function',
        function: { name: tool.name, description: tool.description, parameters: this.#schemaOf(tool) },
      }))
  }

  /** "Always" for this session: further calls of the tool run without asking. */
  approveTool(name: string): void {
    this.#approved.add(name)
  }

  resetApprovals(): void {
    this.#approved.clear()
  }

  /**
   * The same tools and switches for somebody who can't wait for people, such as a sub-agent: every call that is not safe is
   * denied there, also one that has an "always", because only an approver's claim keeps a call from running twice.
   */
  withoutPeople(): ToolManager {
    const { approver: _, ...options } = this.#options
    const copy = new ToolManager(options)
    for (const tool of this.#tools.values()) copy.register(tool)
    for (const source of this.#sources) copy.addSource(source)
    for (const [name, on] of this.#switched) copy.#switched.set(name, on)
    return copy
  }

  /** Prepares and runs one call. `argsText` is the JSON text as the model wrote it. */
  async dispatch(name: string, argsText: string, context: ToolContext): Promise<Dispatched> {
    const prepared = await this.prepare(name, argsText, context)
    return prepared.kind === 'ready' ? prepared.run() : prepared
  }

  /**
   * All of `dispatch` that comes before running: finds the tool, validates, asks the permission. Calls of one step are
   * prepared in order before any of them runs, so that people see what they are asked first.
   */
  async prepare(name: string, argsText: string, context: ToolContext): Promise<Prepared> {
    const tool = this.#find(name)
    if (!tool) return this.#failure(this.#absence(name))
    if (!this.#isOn(tool)) return this.#failure(`the tool "${name}" is switched off here. ${this.#howToSwitch(name)}`)
    const read = await readArguments(tool.parameters, argsText)
    if ('problem' in read) return this.#failure(read.problem)
    if (tool.question) return this.#askQuestion(tool, read.args, context)
    const level = await this.#levelOf(tool, read.args, context)
    if (typeof level !== 'string')
      return this.#failure(`whether this call is allowed could not be told: ${level.problem}`)
    if (level === 'safe') return { kind: 'ready', alone: false, run: () => this.#run(tool, read.args, context) }
    if (level === 'dangerous' && this.#switched.get(name) !== true) {
      return this.#failure(`this call of "${name}" is dangerous and switched off here. ${this.#howToSwitch(name)}`)
    }
    // What is approved must be what people saw, and they don't see secrets.
    if (this.#mask(argsText) !== argsText) {
      return this.#failure(`the arguments hold a secret, which nobody could check. Refer to it by its name instead.`)
    }
    return this.#askPeople(tool, read.args, context)
  }

  /** Without anybody to ask, an earlier "always" still counts; with an approver, "always" is among what it knows. */
  async #askPeople(tool: Tool, args: unknown, context: ToolContext): Promise<Prepared> {
    const { approver } = this.#options
    if (approver) return this.#askApprover(approver, tool, args, context)
    if (this.#approved.has(tool.name)) return { kind: 'ready', alone: true, run: () => this.#run(tool, args, context) }
    return this.#failure(
      `"${tool.name}" needs a person's yes, and nobody can be asked here. Do without it, and say in your answer what is left to do.`,
    )
  }

  async #askApprover(approver: Approver, tool: Tool, args: unknown, context: ToolContext): Promise<Prepared> {
    const { callKey } = context
    let verdict: Verdict
    try {
      verdict = await approver.verdict({ callKey, name: tool.name, args }, tool, context)
    } catch (error) {
      if (error instanceof PreviewError) return this.#failure(error.message)
      throw error
    }
    if (verdict.kind === 'pending') return { kind: 'pending' }
    if (verdict.kind !== 'approved') return this.#decided(verdict)
    const { attempt, note, basis } = verdict
    const approved = await checkArguments(tool.parameters, verdict.args)
    if ('problem' in approved) return this.#failure(approved.problem)
    const beforeEffect = () => approver.confirm(callKey, attempt)
    const running: ToolContext = { ...context, beforeEffect, ...(basis !== undefined && { basis }) }
    return {
      kind: 'ready',
      alone: true,
      run: async () => {
        // Not begun: whoever resumes the run may still run it.
        if (context.signal.aborted) return this.#failure('stopped before it ran')
        // Lost: another worker runs this attempt, and the result is its to write.
        if ((await approver.begin(callKey, attempt)) === 'lost') return { kind: 'pending' }
        const result = await this.#run(tool, approved.args, running, note)
        // Lost: people have given this attempt up, and the result is no longer its to write.
        return (await approver.finish(callKey, attempt, result)) === 'won' ? result : { kind: 'pending' }
      },
    }
  }

  /** What a verdict that keeps the call from running means to the model. */
  #decided(verdict: Exclude<Verdict, { kind: 'pending' | 'approved' }>): Observation {
    switch (verdict.kind) {
      case 'expired':
        return this.#failure(
          'nobody decided about this call in time, so it did not run. Ask the people if it still matters.',
        )
      case 'denied': {
        const reason = verdict.reason?.trim() ? ` Their reason: ${verdict.reason.trim()}` : ''
        return this.#failure(
          `${verdict.by} said no to this call.${reason}\nDo not try to reach the same effect in another way; go on without it or ask.`,
        )
      }
      case 'skipped':
        return this.#failure(
          `this call was begun and then interrupted, so nobody knows whether it took effect. ${verdict.by} decided not to run it again. Look at the state of things before you build on it.`,
        )
      case 'finished':
        return { kind: 'observation', failed: verdict.failed, text: verdict.text }
    }
  }

  async #askQuestion(tool: Tool, args: unknown, context: ToolContext): Promise<Prepared> {
    const { approver } = this.#options
    if (!approver)
      return this.#failure('nobody can be asked here. Decide by yourself, and say in your answer what you assumed.')
    const answer = await approver.answer(context.callKey, tool.question!(args), context)
    if (answer.kind === 'pending') return { kind: 'pending' }
    if (answer.kind === 'expired') {
      return this.#failure(
        'nobody answered in time. Decide by yourself if that is safe, and say what you assumed; else stop here.',
      )
    }
    return { kind: 'observation', failed: false, text: this.#mask(`${answer.by} answered: ${answer.text}`) }
  }

  async #run(tool: Tool, args: unknown, context: ToolContext, note = ''): Promise<Observation> {
    const { signal } = context
    if (signal.aborted) return this.#failure('stopped before it ran')
    try {
      const value = await untilStopped(tool.invoke(args, context), signal, this.#options.stopGraceMs ?? STOP_GRACE_MS)
      const text = await this.#shorten(this.#mask(observationOf(value)), tool, context)
      return { kind: 'observation', failed: false, text: note ? `${note}\n\n${text}` : text }
    } catch (error) {
      const problem = signal.aborted && isAbort(error) ? 'stopped before it finished' : messageOf(error).toWellFormed()
      const text = errorText(await this.#shorten(this.#mask(problem), tool, context))
      return { kind: 'observation', failed: true, text: note ? `${text}\n\n${note}` : text }
    }
  }

  /** A text within the limits of an observation; the whole of it goes to the keeper, if it can be read from there again. */
  async #shorten(text: string, tool: Tool, context: ToolContext): Promise<string> {
    const reader = this.#find(READ_RESULT)
    const keeper = reader && this.#isOn(reader) ? this.#options.keeper : undefined
    return shorten(text, tool.keep ?? 'head', keeper, context)
  }

  async #levelOf(tool: Tool, args: unknown, context: ToolContext): Promise<PermissionLevel | { problem: string }> {
    if (typeof tool.permission === 'string') return tool.permission
    try {
      return await tool.permission(args, context)
    } catch (error) {
      return { problem: messageOf(error) }
    }
  }

  #isOn(tool: Tool): boolean {
    return this.#switched.get(tool.name) ?? tool.permission !== 'dangerous'
  }

  #failure(problem: string): Observation {
    return { kind: 'observation', failed: true, text: errorText(this.#mask(problem.toWellFormed())) }
  }

  #mask(text: string): string {
    return this.#options.mask?.(text) ?? text
  }

  #find(name: string): Tool | undefined {
    const registered = this.#tools.get(name)
    if (registered) return registered
    for (const source of this.#sources) {
      const found = source.tools().find((tool) => tool.name === name)
      if (found) return found
    }
    return undefined
  }

  #absence(name: string): string {
    const reason = this.#sources.map((source) => source.absence(name)).find((text) => text !== undefined)
    return reason ?? `there is no tool "${name}". The tools are: ${this.#offered()}`
  }

  #sorted(): Tool[] {
    const all = new Map(this.#tools)
    for (const tool of this.#sources.flatMap((source) => source.tools())) {
      if (!all.has(tool.name)) all.set(tool.name, tool)
    }
    return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #schemaOf(tool: Tool): Record<string, unknown> {
    const known = this.#schemas.get(tool)
    if (known) return known
    const schema = toJsonSchema(tool.parameters as Tool<never>['parameters'])
    this.#schemas.set(tool, schema)
    return schema
  }

  #offered(): string {
    const names = this.toOpenAISchema().map((tool) => tool.function.name)
    return names.join(', ') || 'none'
  }

  #howToSwitch(name: string): string {
    return `An admin of the bot can switch it on with \`tool enable ${name}\`.`
  }
}
