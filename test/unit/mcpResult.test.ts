import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { McpResultSchema, resultText } from '../../src/tool/mcpResult.ts'

const CASES = join(import.meta.dirname, '../../../shared/cases/mcp')
const withCases = it.skipIf(!existsSync(CASES))

function textOf(result: unknown, where?: string): Promise<string> {
  return resultText(McpResultSchema.parse(result), async () => where)
}

describe('results of MCP tools', () => {
  withCases('say what came when it is no text (MC-05)', async () => {
    const [image, link, resource, audio, nothing] = JSON.parse(
      readFileSync(join(CASES, 'result_image_only.json'), 'utf8'),
    )
    expect(await textOf(image, '"k1"')).toBe(`[1 image/png, 70 bytes, kept as "k1"; you can't see it]`)
    expect(await textOf(image)).toContain('not kept')
    expect(await textOf(link)).toBe('[link to a resource: report.csv (file:///x/report.csv)]')
    expect(await textOf(resource)).toBe('[resource mem://1]\ninner text')
    expect(await textOf(audio)).toContain('1 audio/wav, 3 bytes')
    expect(await textOf(nothing)).toBe('')
  })

  withCases('that are errors are thrown, with every detail (MC-07)', async () => {
    const [withText, structured] = JSON.parse(readFileSync(join(CASES, 'result_is_error.json'), 'utf8'))
    await expect(textOf(withText)).rejects.toThrow('quota used up')
    await expect(textOf(structured)).rejects.toThrow('{"reason":"busy","wait_s":12}')
    await expect(textOf({ isError: true })).rejects.toThrow('without a word about why')
  })

  it('show structured content once: as the text that says the same, or else beside it', async () => {
    const structuredContent = { a: 1, b: [2] }
    const same = { type: 'text', text: '{ "b": [2], "a": 1 }' }
    expect(await textOf({ content: [same], structuredContent })).toBe(same.text)
    expect(await textOf({ content: [{ type: 'text', text: 'two numbers' }], structuredContent })).toBe(
      'two numbers\n{"a":1,"b":[2]}',
    )
  })

  it('show wrapped structured content once too: a text, or a list of them, as the one field of an object', async () => {
    const texts = ['one', '2'].map((text) => ({ type: 'text', text }))
    expect(await textOf({ content: [texts[0]], structuredContent: { content: 'one' } })).toBe('one')
    expect(await textOf({ content: texts, structuredContent: { result: ['one', 2] } })).toBe('one\n2')
    expect(await textOf({ content: texts, structuredContent: { result: ['one', 3] } })).toContain(
      '{"result":["one",3]}',
    )
    expect(await textOf({ content: [], structuredContent: { result: [] } })).toBe('{"result":[]}')
  })

  it('use text that came as bytes, and say what a binary resource is', async () => {
    const blob = Buffer.from('{"ü":1}').toString('base64')
    const resource = (mimeType: string) => ({
      content: [{ type: 'resource', resource: { uri: 'f://1', mimeType, blob } }],
    })
    expect(await textOf(resource('application/json'))).toBe('[resource f://1]\n{"ü":1}')
    expect(await textOf(resource('application/zip'))).toBe(
      "[resource f://1, application/zip, 8 bytes, not kept; you can't see it]",
    )
  })

  it('that are kept nowhere because keeping failed are still told of', async () => {
    const result = McpResultSchema.parse({ content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] })
    expect(await resultText(result, () => Promise.reject(new Error('full')))).toContain('not kept')
  })

  it('become a text or an error, whatever a server sends', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ content: fc.array(fc.jsonValue()), structuredContent: fc.jsonValue() }),
        async (one) => {
          expect(typeof (await textOf(one))).toBe('string')
        },
      ),
    )
    expect(await textOf({ content: 'wrong', isError: 'wrong', toolResult: { old: true } })).toBe('{"old":true}')
    expect(await textOf({ content: [{ type: 'hologram' }] })).toContain('hologram')
  })
})
