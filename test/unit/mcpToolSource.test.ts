import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Tool, ToolContext, ToolSource } from '../../src/tool/tool.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'

function tool(name: string, says: string, permission: Tool['permission'] = 'safe'): Tool {
  return { name, description: says, permission, parameters: z.object({}), invoke: async () => says }
}

const context: ToolContext = {
  signal: new AbortController().signal,
  callKey: 't/1/0',
  threadKey: 't',
  requester: null,
  workspace: '/',
}

async function textOf(manager: ToolManager, name: string): Promise<string> {
  const outcome = await manager.dispatch(name, '{}', context)
  return outcome.kind === 'observation' ? outcome.text : 'waits'
}

describe('sources of tools', () => {
  it('are asked anew each time, and say why a tool of theirs is not there', async () => {
    let tools = [tool('a', 'first')]
    const source: ToolSource = {
      tools: () => tools,
      absence: (name) => (name === 'a' ? 'a is away' : undefined),
    }
    const manager = new ToolManager()
    manager.addSource(source)
    expect(await textOf(manager, 'a')).toBe('first')
    tools = [tool('b', 'second')]
    expect(manager.toOpenAISchema().map((one) => one.function.name)).toEqual(['b'])
    expect(await textOf(manager, 'a')).toBe('Error: a is away')
    expect(await textOf(manager, 'c')).toBe('Error: there is no tool "c". The tools are: b')
  })

  it('never shadow a registered tool, nor one another', async () => {
    const source = (says: string): ToolSource => ({
      tools: () => [tool('a', says), tool('b', says)],
      absence: () => undefined,
    })
    const manager = new ToolManager()
    manager.register(tool('a', 'registered'))
    manager.addSource(source('first'))
    manager.addSource(source('second'))
    expect([await textOf(manager, 'a'), await textOf(manager, 'b')]).toEqual(['registered', 'first'])
    expect(manager.listTools().map(({ name, description }) => [name, description])).toEqual([
      ['a', 'registered'],
      ['b', 'first'],
    ])
  })

  it('are switched and denied like registered tools, for sub-agents too', async () => {
    const tools = [tool('d', 'done', 'dangerous'), tool('s', 'done', 'sensitive'), tool('f', 'fine')]
    const manager = new ToolManager()
    manager.addSource({ tools: () => tools, absence: () => undefined })
    manager.disable('f')
    expect(manager.listTools().map(({ name, enabled }) => [name, enabled])).toEqual([
      ['d', false],
      ['f', false],
      ['s', true],
    ])
    const copy = manager.withoutPeople()
    expect(await textOf(copy, 'f')).toContain('switched off')
    expect(await textOf(copy, 's')).toContain("needs a person's yes")
  })
})
