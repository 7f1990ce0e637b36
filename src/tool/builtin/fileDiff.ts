import { type StructuredPatchHunk, structuredPatch } from 'diff'
import type { Preview } from '../approval.ts'
import type { Target } from './atomicWrite.ts'
import { withoutDisguise } from './visibleText.ts'

/** What would be written to a file, as people see it. */
export function previewOf(target: Target, after: Buffer): Preview {
  const { shown, real, bytes, basis } = target
  const { body, added, removed } = diffOf(bytes, after)
  const counts = bytes === null ? `new, +${added}` : `+${added} −${removed}`
  // Where a link leads is what people decide about.
  const name = real === shown ? inOneLine(shown) : `${inOneLine(shown)} → ${inOneLine(real)}`
  const fileName = `${inOneLine(shown.split('/').at(-1)!).slice(0, 100).toWellFormed()}.diff`
  return { summary: `${name} (${counts})`, body, format: 'diff', fileName, basis }
}

/** A file's name may hold anything; none of it may look like a line of the card. */
function inOneLine(name: string): string {
  return withoutDisguise(name).replaceAll('\n', '⟨U+000A⟩').replaceAll('\t', '⟨U+0009⟩')
}

/**
 * A unified diff without its file names. A byte order mark and line endings that stay as they are do not show; where they
 * change or are mixed, they show in the lines as `⟨U+FEFF⟩` and `⟨U+000D⟩`, and a note says so in words.
 */
export function diffOf(before: Buffer | null, after: Buffer): { body: string; added: number; removed: number } {
  const old = before === null ? null : textOf(before)
  const now = textOf(after)
  // The tools refuse such files before they come here.
  if (now === null || (before !== null && old === null)) throw new Error('there is no diff of what is not UTF-8 text')
  const notes = notesOf(old, now)
  const [left, right] = comparable(old, now)
  const patch = structuredPatch('', '', left, right, undefined, undefined, { context: 3, ...DIFF_LIMITS })
  const hunks = patch?.hunks ?? [whole(left, right)]
  const lines = hunks.flatMap((hunk) => [headOf(hunk), ...hunk.lines])
  const count = (sign: string) => lines.filter((line) => line[0] === sign).length
  const body = withoutDisguise([...notes.map((note) => `# ${note}`), ...lines].join('\n')) || '(no change)'
  return { body, added: count('+'), removed: count('-') }
}

/** A range of no lines stands behind the line before it. */
function headOf({ oldStart, oldLines, newStart, newLines }: StructuredPatchHunk): string {
  const from = (start: number, lines: number) => `${lines === 0 ? start - 1 : start},${lines}`
  return `@@ -${from(oldStart, oldLines)} +${from(newStart, newLines)} @@`
}

/** Looking for the smallest diff of very different texts takes time that the whole program would stand still. */
const DIFF_LIMITS = { maxEditLength: 2_000, timeout: 300 }

/** Beyond what a diff can be found for in time: all of the old text, then all of the new one. */
function whole(old: string, now: string): StructuredPatchHunk {
  const before = old.split('\n')
  const after = now.split('\n')
  const lines = [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)]
  return { oldStart: 1, oldLines: before.length, newStart: 1, newLines: after.length, lines }
}

function notesOf(old: string | null, now: string): string[] {
  const notes: string[] = []
  const [was, is] = [old === null ? 'LF' : endingsOf(old), endingsOf(now)]
  if (was !== is) notes.push(`line endings: ${old === null ? '' : `${was} become `}${is}`)
  else if (is === 'mixed') notes.push('line endings: mixed')
  if (isMarked(old ?? '') !== isMarked(now))
    notes.push(isMarked(now) ? 'with a byte order mark' : 'without its byte order mark')
  return notes
}

/** Both texts without what they have in common anyway: the mark at the start, and line endings that are all the same. */
function comparable(old: string | null, now: string): [string, string] {
  const sameMark = old === null || isMarked(old) === isMarked(now)
  const sameEndings = endingsOf(now) !== 'mixed' && (old === null || endingsOf(old) === endingsOf(now))
  const plain = (text: string) => {
    const unmarked = sameMark ? text.replace(/^\ufeff/, '') : text
    return sameEndings ? unmarked.replaceAll('\r\n', '\n') : unmarked
  }
  return [plain(old ?? ''), plain(now)]
}

function endingsOf(text: string): 'LF' | 'CRLF' | 'mixed' {
  if (!text.includes('\r\n')) return 'LF'
  return /(^|[^\r])\n/.test(text) ? 'mixed' : 'CRLF'
}

function isMarked(text: string): boolean {
  return text.startsWith('\ufeff')
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
