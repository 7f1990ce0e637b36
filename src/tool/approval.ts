import type { ToolContext } from './context.ts'

/** How people are asked about a call of a tool that is not safe, and what they are told. */
export interface ToolApproval<Args> {
  /**
   * The call as people have to see it to decide, whole. Has no effect. What it throws is the call's observation: nobody is
   * asked about a call that can't succeed.
   */
  preview(args: Args, context: ToolContext): Promise<Preview>
  /** What "always" would reach beyond this one call. */
  always(args: Args): AlwaysScope
  /** The texts that the `match` of an approval rule is compared with, such as the commands of a line or a path. */
  subjects(args: Args, context: ToolContext): string[] | Promise<string[]>
  /**
   * Finds out, without any effect, whether an attempt whose end nobody saw took effect; resolves to a sentence for people.
   * `null`: that can't be found out for this tool.
   */
  check: ((args: Args, context: ToolContext, basis: string | undefined) => Promise<string>) | null
}

export interface Preview {
  /** One line: what the call does to what, such as `src/a.ts (+3 −1)`. Plain text. */
  summary: string
  /** The whole command, diff or text. */
  body: string
  format: 'diff' | 'shell' | 'json' | 'text'
  /** The name of the file that carries `body` where it does not fit a message. */
  fileName: string
  /**
   * What the preview was made from, such as a hash of the file as it was. The approved call gets it back as
   * `ToolContext.basis` and must not run when that has changed since.
   */
  basis?: string
}

/** `key` tells scopes apart in the store; the rest says in words how far it reaches. */
export interface AlwaysScope {
  key: string
  /** `command`: exactly this command line, which stands in `detail`; `tool`: every call of the tool named in `detail`. */
  kind: 'fileEdits' | 'command' | 'tool'
  detail: string
}
