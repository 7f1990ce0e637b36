import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { cutText, headOf, tailOf } from '../../src/tool/cutText.ts'
import { observationOf } from '../../src/tool/observation.ts'
import { isInside, resolveInWorkspace } from '../../src/tool/workspacePath.ts'

const anyText = fc.string({ unit: 'binary', maxLength: 400 })
const lineText = fc
  .array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 60 })
  .map((lines) => lines.join('\n'))

describe('cut texts', () => {
  it('stand within the limits and are an unbroken part of the whole, at the end that was asked for', () => {
    fc.assert(
      fc.property(
        lineText,
        fc.constantFrom('head' as const, 'tail' as const),
        fc.record({ lines: fc.integer({ min: 1, max: 40 }), bytes: fc.integer({ min: 8, max: 400 }) }),
        (text, keep, limits) => {
          const cut = cutText(text, keep, limits)
          const lines = text.endsWith('\n') && text !== '\n' ? text.slice(0, -1).split('\n') : text.split('\n')
          if (!cut) {
            expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limits.bytes)
            return
          }
          expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(limits.bytes)
          expect(cut.text.split('\n').length).toBeLessThanOrEqual(limits.lines)
          expect(cut.bytes).toBe(Buffer.byteLength(text))
          if (cut.insideLine) {
            const line = lines[cut.from - 1]!
            expect(keep === 'head' ? line.startsWith(cut.text) : line.endsWith(cut.text)).toBe(true)
          } else expect(cut.text).toBe(lines.slice(cut.from - 1, cut.to).join('\n'))
          expect(keep === 'head' ? cut.from : cut.to).toBe(keep === 'head' ? 1 : lines.length)
        },
      ),
    )
  })

  it('never tear a grapheme, whatever its length', () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
    const borders = (text: string) =>
      new Set([...segmenter.segment(text)].map(({ index }) => index).concat(text.length))
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme-composite', maxLength: 200 }),
        fc.integer({ min: 0, max: 300 }),
        (text, bytes) => {
          const head = headOf(text, bytes)
          const tail = tailOf(text, bytes)
          expect(text.startsWith(head)).toBe(true)
          expect(text.endsWith(tail)).toBe(true)
          expect(borders(text).has(head.length)).toBe(true)
          expect(borders(text).has(text.length - tail.length)).toBe(true)
          expect(Buffer.byteLength(head)).toBeLessThanOrEqual(bytes)
          expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(bytes)
        },
      ),
    )
  })
})

describe('observations', () => {
  it('are never empty and always well-formed Unicode, whatever a tool returns', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true }), anyText),
        (value) => {
          const text = observationOf(value)
          expect(text.trim()).not.toBe('')
          expect(text.isWellFormed()).toBe(true)
        },
      ),
    )
  })
})

describe('paths', () => {
  const base = mkdtempSync(join(tmpdir(), 'toycoder-paths-'))
  const root = join(base, 'ws')
  mkdirSync(join(root, 'a/b'), { recursive: true })
  mkdirSync(join(base, 'ws-other'))
  symlinkSync(base, join(root, 'out'))
  symlinkSync('a', join(root, 'in'))
  symlinkSync('../..', join(root, 'a/up'))
  afterAll(() => rmSync(base, { recursive: true, force: true }))

  it('are refused or lie inside of the workspace, however they are put together', async () => {
    const part = fc.constantFrom(
      '..',
      '.',
      'a',
      'b',
      'in',
      'out',
      'up',
      'ws',
      'ws-other',
      '',
      '~',
      '%2e%2e',
      '..\\',
      'new',
      root,
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 7 }),
        fc.constantFrom('/', '\\', '//'),
        async (parts, separator) => {
          const path = parts.join(separator)
          const found = await resolveInWorkspace(root, path).catch(() => null)
          if (found) expect(isInside(root, found.absolute), path).toBe(true)
        },
      ),
      { numRuns: 400 },
    )
  })
})
