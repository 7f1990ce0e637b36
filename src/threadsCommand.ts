import type { Store } from './session/store.ts'
import { type ListedThread, listThreads } from './session/threadList.ts'
import type { Redactor } from './shared/redact.ts'
import { withoutDisguise } from './tool/builtin/visibleText.ts'

/** `toycoder threads`: a line for each thread, of JSON or for people; secrets are masked in both. */
export async function* threadLines(
  store: Store,
  { json, parkedOnly, redactor }: { json: boolean; parkedOnly: boolean; redactor: Redactor },
): AsyncGenerator<string> {
  for await (const thread of listThreads(store)) {
    if (parkedOnly && thread.state !== 'parked') continue
    yield redactor.text(json ? JSON.stringify(thread) : lineOf(thread))
  }
}

function lineOf({ thread, state, title, parked }: ListedThread): string {
  const why = parked ? [`since ${new Date(parked.at).toISOString()}: ${parked.error}`] : []
  return [thread, state, title, ...why].map(inOneLine).join('  ')
}

/** People write titles, and models errors: neither may break the line or steer a terminal. */
function inOneLine(text: string): string {
  return withoutDisguise(text.replaceAll(/\s+/g, ' '))
}
