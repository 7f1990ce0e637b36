import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aggregate, type Finding, runParallel } from '../../src/agent/parallel.ts'
import { createPlanner, plannerTool } from '../../src/agent/planner.ts'
import { runReact } from '../../src/agent/react.ts'
import { createReview, reviewTool } from '../../src/agent/review.ts'
import { SubAgent } from '../../src/agent/subAgent.ts'
import { SubAgentTool } from '../../src/agent/subAgentTool.ts'
import { ScriptedClient, type ScriptedStep } from '../../src/client/scriptedClient.ts'
import { PromptManager } from '../../src/prompt/promptManager.ts'
import { isAbort, ModelError } from '../../src/shared/errors.ts'
import type { Message } from '../../src/shared/message.ts'
import type { ToolContext } from '../../src/tool/tool.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'
import { call, drain } from './agentScript.ts'
import { people } from './people.ts'

const promptManager = new PromptManager({ folder: join(import.meta.dirname, '../../prompts') })
const context: ToolContext = {
  signal: new AbortController().signal,
  callKey: 't/5/0',
  threadKey: 't',
  requester: { id: 'u', name: 'Ann' },
  workspace: '/ws',
}

function agent(script: ScriptedStep[], more: Partial<ConstructorParameters<typeof SubAgent>[0]> = {}) {
  const client = new ScriptedClient(script)
  const options = { name: 'sub', client, promptManager, promptName: 'reviewers', promptKey: 'style' }
  return { client, agent: new SubAgent({ ...options, toolManager: new ToolManager(), ...more }) }
}

describe('a sub-agent', () => {
  it('streams and runs by the same loop, from fresh messages each time', async () => {
    const { client, agent: sub } = agent([{ text: ['a', 'b'] }, { text: ['c'] }])
    expect(await drain(sub.stream('look'))).toEqual({ pieces: ['a', 'b'], answer: 'ab' })
    expect(await sub.run('again')).toBe('c')
    expect(client.requests[1]!.messages.map(({ role }) => role)).toEqual(['system', 'user'])
    expect(client.requests[1]!.messages[1]!.content).toBe('again')
  })

  it('is told the context at the end of its system prompt, under a heading', async () => {
    const { client, agent: sub } = agent([{ text: 'ok' }, { text: 'ok' }])
    await sub.run('look', 'The project is small.')
    await sub.run('look', '  ')
    expect(client.requests[0]!.messages[0]!.content).toMatch(/request\.\n\n## Context\nThe project is small\.$/)
    expect(client.requests[1]!.messages[0]!.content).not.toContain('## Context')
  })

  it('has its description from its prompt', () => {
    expect(agent([]).agent.description).toBe('Reviews code for clarity and maintainability.')
  })

  it('takes 8 steps unless told otherwise', async () => {
    const toolManager = new ToolManager()
    toolManager.tool({ name: 'n', description: '', parameters: z.object({}), permission: 'safe' }, () => Math.random())
    const calling = Array.from({ length: 8 }, () => ({ toolCalls: [call('n')] }))
    const { agent: sub } = agent([...calling, { text: 'summary' }], { toolManager })
    expect(await sub.run('look')).toMatch(/^⚠️ I stopped after 8 steps.*\n\nsummary$/)
  })

  it('never waits for people: what would need a yes is denied with a text', async () => {
    const approver = people(() => {
      throw new Error('nobody may be asked')
    })
    const toolManager = new ToolManager({ approver })
    toolManager.tool(
      { name: 'write', description: '', parameters: z.object({}), permission: 'sensitive' },
      () => 'wrote',
    )
    let observation: unknown
    const second: ScriptedStep = {
      text: 'could not write',
      expect: ({ messages }) => {
        observation = messages.at(-1)!.content
      },
    }
    const { agent: sub } = agent([{ toolCalls: [call('write')] }, second], { toolManager })
    expect(await sub.run('write it')).toBe('could not write')
    expect(observation).toMatch(/^Error: "write" needs a person's yes, and nobody can be asked here/)
  })

  it('ends with its signal', async () => {
    const { agent: sub } = agent([{ text: 'x' }])
    const ended = await sub.run('look', undefined, { signal: AbortSignal.abort() }).catch((error) => error)
    expect(isAbort(ended)).toBe(true)
  })
})

describe('a sub-agent as a tool', () => {
  it('is called by the main agent like any other, with its own messages', async () => {
    const { client, agent: sub } = agent([{ text: 'inner answer' }])
    const toolManager = new ToolManager()
    toolManager.register(new SubAgentTool(sub))
    const messages: Message[] = [{ role: 'user', content: 'secret of the thread' }]
    const main = new ScriptedClient([{ toolCalls: [call('sub', { query: 'q', context: 'c' })] }, { text: 'done' }])
    expect(await runReact({ client: main, messages, toolManager })).toBe('done')
    expect(messages[2]!.content).toBe('inner answer')
    expect(JSON.stringify(client.requests[0]!.messages)).not.toContain('secret of the thread')
    expect(main.requests[0]!.params.tools![0]!.function.parameters.required).toEqual(['query'])
  })

  it('gives its tools unique call keys and the surroundings of the outer call, and tells what it cost', async () => {
    const seen: ToolContext[] = []
    const toolManager = new ToolManager()
    toolManager.tool({ name: 'n', description: '', parameters: z.object({}), permission: 'safe' }, (_, about) => {
      seen.push(about)
      return 'x'
    })
    const usage = { inputTokens: 3 }
    const { agent: sub } = agent(
      [
        { toolCalls: [call('n'), call('n')], usage },
        { text: 'ok', usage },
      ],
      { toolManager },
    )
    const costs: unknown[] = []
    const tool = new SubAgentTool(sub, {
      onMessage: (message, meta, about) => {
        if (message.role === 'assistant') costs.push([meta.usage, about.callKey])
      },
    })
    await tool.invoke({ query: 'q' }, context)
    expect(seen.map(({ callKey }) => callKey)).toEqual(['t/5/0/2:0', 't/5/0/2:1'])
    expect(seen[0]).toMatchObject({ threadKey: 't', workspace: '/ws', requester: { id: 'u' } })
    expect(costs).toEqual([
      [usage, 't/5/0'],
      [usage, 't/5/0'],
    ])
  })

  it('turns its failure into an observation of the outer run', async () => {
    const failing = { error: new ModelError('server', 'the inner model is down') }
    const toolManager = new ToolManager()
    toolManager.register(new SubAgentTool(agent([failing]).agent))
    expect(await toolManager.dispatch('sub', '{"query":"q"}', context)).toEqual({
      kind: 'observation',
      failed: true,
      text: 'Error: the inner model is down',
    })
  })
})

describe('the planner', () => {
  it('answers in one step without tools, with its own prompt and an explicit description', async () => {
    const client = new ScriptedClient([{ text: ['1. ', 'do'] }])
    const planner = createPlanner({ client, promptManager })
    expect((await drain(planner.stream('add a flag'))).answer).toBe('1. do')
    expect(client.requests[0]!.params.tools).toBeUndefined()
    expect(client.requests[0]!.messages[0]!.content).toContain('You are the planner')
    const tool = plannerTool(planner)
    expect(tool.name).toBe('planner')
    expect(tool.permission).toBe('safe')
    expect(tool.description).not.toBe(planner.description)
  })
})

describe('several sub-agents at once', () => {
  const named = (name: string, script: ScriptedStep[]) => agent(script, { name })

  it('run at the same time, and give answers or errors by name in the order given', async () => {
    const gate = Promise.withResolvers<void>()
    const waits = { before: () => gate.promise, text: 'A' }
    const opens = { before: () => gate.resolve(), text: 'C' }
    const broken = { error: new ModelError('server', 'down') }
    const agents = [named('a', [waits]), named('b', [broken]), named('c', [opens])].map(({ agent: sub }) => sub)
    const found = await runParallel(agents, 'same input')
    expect(found.map((one) => [one.name, 'answer' in one ? one.answer : one.error.message])).toEqual([
      ['a', 'A'],
      ['b', 'down'],
      ['c', 'C'],
    ])
  })

  it('need names of their own', async () => {
    await expect(runParallel([named('a', []).agent, named('a', []).agent], 'x')).rejects.toThrow('names of their own')
  })

  it('reject together when the run is stopped', async () => {
    const controller = new AbortController()
    const stops = { before: () => controller.abort(), text: 'x' }
    const run = runParallel([named('a', [stops]).agent], 'x', undefined, { signal: controller.signal })
    expect(isAbort(await run.catch((error) => error))).toBe(true)
  })

  it('are merged by the aggregator, which is told of the failed ones; without any answer there is nothing to merge', async () => {
    const client = new ScriptedClient([{ text: ['mer', 'ged'] }])
    const findings: Finding[] = [
      { name: 'a', answer: 'fine {input}' },
      { name: 'b', error: new Error('down') },
    ]
    const merged = await drain(aggregate({ client, promptManager }, 'the input', findings))
    expect(merged).toEqual({ pieces: ['mer', 'ged'], answer: 'merged' })
    const asked = client.requests[0]!.messages[1]!.content
    expect(asked).toContain('<input>\nthe input\n</input>')
    expect(asked).toContain('<finding from="a">\nfine {input}\n</finding>')
    expect(asked).toContain('<finding from="b">\n(failed: down)\n</finding>')
    await expect(drain(aggregate({ client, promptManager }, 'x', findings.slice(1)))).rejects.toThrow(
      'none of them could answer: b: down',
    )
  })
})

describe('the review', () => {
  it('asks the three reviewers on the diff and merges what they found', async () => {
    const script: ScriptedStep[] = ['s', 'p', 'y'].map((text) => ({ text }))
    const client = new ScriptedClient([...script, { text: 'all in all' }])
    const review = createReview({ client, promptManager, toolManager: new ToolManager() })
    const tool = reviewTool(review)
    expect(await tool.invoke({ query: 'check it', diff: '-a\n+b' }, context)).toBe('all in all')
    expect(client.requests).toHaveLength(4)
    const systems = client.requests
      .slice(0, 3)
      .map(({ messages }) => /for (\w+)/.exec(messages[0]!.content as string)![1])
    expect(systems).toEqual(['security', 'performance', 'clarity'])
    expect(client.requests[0]!.messages[1]!.content).toBe('check it\n\n<diff>\n-a\n+b\n</diff>')
    expect(client.requests[3]!.messages[1]!.content).toContain('<finding from="style">\ny\n</finding>')
  })
})
