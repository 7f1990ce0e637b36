import { structuredPatch } from 'diff'
import type { Preview } from '../approval.ts'
import type { Target } from './atomicWrite.ts'
import { withoutDisguise } from './visibleText.ts'

/** What would be written to a file, as people and the model see it. */
export function previewOf({ shown, bytes, basis }: Target, after: Buffer): Preview {
  const { body, added, removed } = diffOf(shown, bytes, after)
  const counts = bytes === null ? `new, +${added}` : `+${added} −${removed}`
  const fileName = `${shown.split('/').at(-1)!.slice(0, 100)}.diff`
  return { summary: `${withoutDisguise(shown)} (${counts})`, body, format: 'diff', fileName, basis }
}

/** A unified diff without its file names. What it does not show of itself (line endings, the mark at the start) stands in words. */
export function diffOf(
  shown: string,
  before: Buffer | null,
  after: Buffer,
): { body: string; added: number; removed: number } {
  const old = before === null ? '' : textOf(before)
  const now = textOf(after)
  if (old === null || now === null) {
    return { body: `(binary: ${before?.length ?? 0} bytes become ${after.length})`, added: 0, removed: 0 }
  }
  const patch = structuredPatch(shown, shown, lf(old), lf(now), undefined, undefined, {
    context: 3,
    ...DIFF_LIMITS,
  })
  const hunks = patch?.hunks ?? [whole(lf(old), lf(now))]
  const lines = hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines,
  ])
  const count = (sign: string) => lines.filter((line) => line[0] === sign).length
  const notes = notesOf(before === null ? null : old, now)
  const body = withoutDisguise([...notes.map((note) => `# ${note}`), ...lines].join('\n')) || '(no change)'
  return { body, added: count('+'), removed: count('-') }
}

/** Looking for the smallest diff of very different texts takes time that the whole program would stand still. */
const DIFF_LIMITS = { maxEditLength: 2_000, timeout: 300 }

/** Beyond what a diff can be found for in time: all of the old text, then all of the new one. */
function whole(old: string, now: string) {
  const before = old.split('\n')
  const after = now.split('\n')
  const lines = [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)]
  return { oldStart: 1, oldLines: before.length, newStart: 1, newLines: after.length, lines }
}

function notesOf(old: string | null, now: string): string[] {
  const notes: string[] = []
  const endings = (text: string) => (text.includes('\r\n') ? (/(^|[^\r])\n/.test(text) ? 'mixed' : 'CRLF') : 'LF')
  const marked = (text: string) => text.startsWith('\ufeff')
  if (old === null ? endings(now) !== 'LF' : endings(old) !== endings(now)) {
    notes.push(`line endings: ${old === null ? '' : `${endings(old)} become `}${endings(now)}`)
  }
  if (old === null ? marked(now) : marked(old) !== marked(now))
    notes.push(marked(now) ? 'with a byte order mark' : 'without its byte order mark')
  return notes
}

/** Line endings and the mark at the start are told in words; the lines are compared without them. */
function lf(text: string): string {
  return text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
}

/** `null` for bytes that are no UTF-8 text. */
export function textOf(bytes: Buffer): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
