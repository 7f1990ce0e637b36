import type { DialogField } from '../platform/platform.ts'
import type { Ask } from '../session/approvalTypes.ts'
import { messageOf } from '../shared/errors.ts'
import { type ThreadRef, threadKey } from '../shared/thread.ts'
import type { Wording } from '../shared/wording/wording.ts'
import { checkArguments, toJsonSchema } from '../tool/arguments.ts'
import type { Tool, ToolContext } from '../tool/tool.ts'
import { argumentsOf, formOf } from './argumentForm.ts'
import type { Platforms } from './platforms.ts'

export interface CallEditingParts {
  platforms: Platforms
  /** A tool by name; `undefined` where the thread has none of that name (any more). */
  toolOf(ref: ThreadRef, name: string): Promise<Tool | undefined>
  /** Absolute path of the folder that tools work on. */
  workspace: string
}

/** Who edits: `ref` is the thread of the call, `at` where the dialog is open. */
interface Editor {
  ref: ThreadRef
  at: ThreadRef
  wording: Wording
}

/** The arguments of a call that waits, as people change them in a dialog. Both answer `null` for what can't be edited here. */
export function createCallEditing({ platforms, toolOf, workspace }: CallEditingParts) {
  async function formFor({ ref, at }: Editor, ask: Ask) {
    const tool = ask.kind === 'call' ? await toolOf(ref, ask.tool) : undefined
    if (ask.kind !== 'call' || !tool) return null
    const args = ask.args as Record<string, unknown>
    // Fields of all that the tool knows; of what the call has where that would be too many.
    for (const schema of [toJsonSchema(tool.parameters as Tool<never>['parameters']), {}]) {
      const fields = formOf(schema, args, platforms.of(at).limits.dialog)
      if (fields) return { tool, args, schema, fields }
    }
    return null
  }

  return {
    async fieldsOf(editor: Editor, ask: Ask): Promise<DialogField[] | null> {
      return (await formFor(editor, ask))?.fields ?? null
    },

    /** What was sent off, checked like a call of the model's: what is not right is an error at its field. */
    async argumentsOf(
      editor: Editor,
      ask: Ask,
      sent: Readonly<Record<string, string>>,
    ): Promise<{ args: unknown } | { errors: Record<string, string> } | null> {
      const form = await formFor(editor, ask)
      if (!form) return null
      const { ref, wording } = editor
      const onFirst = (problem: string) => ({ errors: { [form.fields[0]!.name]: problem } })
      const read = argumentsOf(form.schema, form.args, sent)
      if ('notJson' in read) {
        return { errors: Object.fromEntries(read.notJson.map((name) => [name, wording.fieldNotJson])) }
      }
      const checked = await checkArguments(form.tool.parameters, read.args)
      if ('problem' in checked) return onFirst(checked.problem)
      try {
        await form.tool.approval?.preview(checked.args, lookingContext(threadKey(ref), ask, workspace))
      } catch (error) {
        return onFirst(messageOf(error))
      }
      return { args: checked.args }
    },
  }
}

/** The surroundings of a look that has no effect: a preview, or a check of what an attempt did. */
export function lookingContext(threadKey: string, ask: Ask, workspace: string): ToolContext {
  const requester = ask.requesters.at(-1) ?? null
  return { callKey: ask.callKey, threadKey, workspace, requester, signal: new AbortController().signal }
}
