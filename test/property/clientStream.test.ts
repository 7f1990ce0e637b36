import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFrameReader } from '../../src/client/sseFrames.ts'
import { createStreamAssembly } from '../../src/client/streamAssembly.ts'
import { createThinkFilter } from '../../src/client/thinkFilter.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 40 })
const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
/** Where a text is cut, as fractions of its length. */
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 })

function cutAt(whole: string, fractions: readonly number[]): string[] {
  const at = fractions.map((fraction) => Math.floor(fraction * whole.length)).toSorted((a, b) => a - b)
  return [...at, whole.length].map((end, index) => whole.slice(at[index - 1] ?? 0, end))
}

test('frames are the same however the body is cut, with any line ends, comments and idle fields between them', () => {
  const noise = fc.constantFrom('', ': keep-alive', 'event: message', 'id: 7', 'retry: 3000', 'data:')
  fc.assert(
    fc.property(fc.array(fc.tuple(text, noise, lineEnd)), cuts, (frames, fractions) => {
      const body = frames
        .map(([content, extra, end]) => {
          const data = `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}`
          return extra === 'data:'
            ? `data:${end}${end}${data}${end}${end}`
            : `${extra ? extra + end : ''}${data}${end}${end}`
        })
        .join('')
      const reader = createFrameReader()
      const chunks = [...cutAt(body, fractions).flatMap((part) => reader.push(part)), ...reader.end()]
      expect(reader.error).toBeNull()
      expect(chunks).toEqual(frames.map(([content]) => ({ choices: [{ delta: { content } }] })))
    }),
  )
})

test('an answer is the sum of its pieces, and the calls are whole, however both are cut into deltas', () => {
  const calls = fc.array(fc.record({ id: fc.uuid(), args: fc.json().map((json) => `{"a":${json}}`) }), { maxLength: 3 })
  fc.assert(
    fc.property(text, calls, cuts, (content, wanted, fractions) => {
      const assembly = createStreamAssembly({ model: 'm', provider: 'p', toolNames: new Set(['t']) })
      const push = (delta: object) => assembly.push({ choices: [{ index: 0, delta }] })
      let seen = cutAt(content, fractions)
        .map((piece) => push({ content: piece }))
        .join('')
      wanted.forEach(({ id, args }, index) => {
        cutAt(args, fractions).forEach((part, at) => {
          const head = at === 0 ? { id, type: 'function' } : {}
          push({ tool_calls: [{ index, ...head, function: { ...(at === 0 ? { name: 't' } : {}), arguments: part } }] })
        })
      })
      assembly.push({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
      seen += assembly.flush()
      const response = assembly.result({ done: true, begun: true })
      fc.pre(!/^\s*<\/?think/.test(content))
      expect([seen, response.content]).toEqual([content, content])
      expect(response.toolCalls.map((call) => [call.id, call.arguments])).toEqual(
        wanted.map(({ id, args }) => [id, args]),
      )
    }),
  )
})

test('hidden thinking never shows, and the answer behind it always does, however both are cut', () => {
  const harmless = text.filter((value) => !value.includes('<'))
  fc.assert(
    fc.property(harmless, harmless, cuts, (thought, answer, fractions) => {
      const filter = createThinkFilter()
      const parts = cutAt(`<think>${thought}</think>\n\n${answer}`, fractions).map((piece) => filter.push(piece))
      parts.push(filter.end())
      expect(parts.map((part) => part.text).join('')).toBe(answer.trimStart())
      expect(parts.map((part) => part.thought).join('')).toBe(thought)
    }),
  )
})

test('a long call that comes with id and name in every piece takes no longer than its length asks for', () => {
  const assembly = createStreamAssembly({ model: 'm', provider: 'p', toolNames: new Set(['write_file']) })
  const args = JSON.stringify({ path: 'a', content: 'x'.repeat(300_000) })
  const startedAt = performance.now()
  for (let at = 0; at < args.length; at += 4) {
    const called = { name: 'write_file', arguments: args.slice(at, at + 4) }
    assembly.push({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c1', function: called }] } }] })
  }
  expect(assembly.soFar().toolCalls.map((call) => call.arguments === args)).toEqual([true])
  // 24 s when all of it was parsed again for each piece, 0.1 s otherwise.
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test('a large frame that comes in many pieces takes no longer than its length asks for', () => {
  const reader = createFrameReader()
  const frame = `data: ${JSON.stringify({ text: 'x'.repeat(4_000_000) })}\n\n`
  const startedAt = performance.now()
  let found = 0
  for (let at = 0; at < frame.length; at += 1_000) found += reader.push(frame.slice(at, at + 1_000)).length
  expect(found).toBe(1)
  // 6 s when all of it was copied for each piece, 0.05 s otherwise.
  expect(performance.now() - startedAt).toBeLessThan(2_500)
})
