import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runReact, streamReact } from '../../src/agent/react.ts'
import { Suspended } from '../../src/agent/reactOptions.ts'
import { ScriptedClient } from '../../src/client/scriptedClient.ts'
import { isAbort, ModelError, Paused } from '../../src/shared/errors.ts'
import { type Message, type UserMessage, unanswered } from '../../src/shared/message.ts'
import type { Approver, Verdict } from '../../src/tool/approver.ts'
import { readResultTool } from '../../src/tool/resultKeeper.ts'
import { ToolManager } from '../../src/tool/toolManager.ts'
import { call, called, drain, isWellFormed } from './agentScript.ts'
import { people } from './people.ts'

const anything = z.object({ x: z.unknown().optional() })
const user = (content: string): UserMessage => ({ role: 'user', content })
const start = (): Message[] => [{ role: 'system', content: 'You help.' }, user('do it')]

function echoTools(approver?: Approver): { toolManager: ToolManager; ran: string[] } {
  const ran: string[] = []
  const toolManager = new ToolManager(approver ? { approver } : {})
  toolManager.tool({ name: 'echo', description: 'says it', parameters: anything, permission: 'safe' }, ({ x }) => {
    ran.push(`echo ${x}`)
    return `echo ${x}`
  })
  toolManager.tool({ name: 'write', description: 'acts', parameters: anything, permission: 'sensitive' }, ({ x }) => {
    ran.push(`write ${x}`)
    return `wrote ${x}`
  })
  return { toolManager, ran }
}

/** People who have said what the map says, by the call's key. */
const say = (verdicts: Record<string, Verdict>) => people((callKey) => verdicts[callKey])

describe('the loop', () => {
  it('yields the pieces of each model call, runs the calls between them, and returns the last text', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const client = new ScriptedClient([
      { text: ['I ', 'look. '], toolCalls: [call('echo', { x: 1 }, 'a')] },
      { text: ['Do', 'ne.'] },
    ])
    const { pieces, answer } = await drain(streamReact({ client, messages, toolManager }))
    expect(pieces).toEqual(['I ', 'look. ', 'Do', 'ne.'])
    expect(answer).toBe('Done.')
    expect(messages.slice(2)).toEqual([
      {
        role: 'assistant',
        content: 'I look. ',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'echo', arguments: '{"x":1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'echo 1' },
      { role: 'assistant', content: 'Done.' },
    ])
    expect(client.requests[0]!.params.tools?.map((tool) => tool.function.name)).toEqual(['echo', 'write'])
  })

  it('gives the caller each message to save before anything else happens', async () => {
    const { toolManager } = echoTools()
    const heard: string[] = []
    await runReact({
      client: new ScriptedClient([{ toolCalls: [call('echo', { x: 1 })], usage: { inputTokens: 7 } }, { text: 'ok' }]),
      messages: start(),
      toolManager,
      onMessage: async (message, meta) => {
        await sleep(5)
        heard.push(`saved ${message.role}${meta.usage?.inputTokens ?? ''}`)
      },
      onToolCall: async (name, args, callKey) => {
        await sleep(5)
        heard.push(`call ${name} ${args} ${callKey}`)
      },
      onToolResult: async (name, observation, callKey, failed) => {
        heard.push(`result ${name} ${observation} ${callKey} ${failed}`)
      },
    })
    expect(heard).toEqual([
      'saved assistant7',
      'call echo {"x":1} 2:0',
      'saved tool',
      'result echo echo 1 2:0 false',
      'saved assistant',
    ])
  })

  it('runs the safe calls of one step together and appends their results in call order', async () => {
    const gate = Promise.withResolvers<void>()
    const toolManager = new ToolManager()
    const one = { description: '', parameters: z.object({}), permission: 'safe' as const }
    toolManager.tool({ ...one, name: 'waits' }, async () => {
      await gate.promise
      return 'first'
    })
    // Would never end if the calls ran one after the other.
    toolManager.tool({ ...one, name: 'opens' }, () => {
      gate.resolve()
      return 'second'
    })
    const messages = start()
    const client = new ScriptedClient([{ toolCalls: [call('waits'), call('opens')] }, { text: 'ok' }])
    await runReact({ client, messages, toolManager })
    expect(messages.slice(3, 5).map((message) => message.content)).toEqual(['first', 'second'])
  })

  it('runs a call with an effect alone and in its place among the safe ones', async () => {
    const events: string[] = []
    const toolManager = new ToolManager()
    const slow = (name: string) => async () => {
      events.push(`${name} starts`)
      await sleep(10)
      events.push(`${name} ends`)
    }
    const base = { description: '', parameters: z.object({}) }
    toolManager.tool({ ...base, name: 'read', permission: 'safe' }, slow('read'))
    toolManager.tool({ ...base, name: 'act', permission: 'sensitive' }, slow('act'))
    toolManager.approveTool('act')
    const client = new ScriptedClient([
      { toolCalls: [call('read'), call('act'), call('act'), call('read')] },
      { text: 'ok' },
    ])
    await runReact({ client, messages: start(), toolManager })
    expect(events).toEqual(['read', 'act', 'act', 'read'].flatMap((name) => [`${name} starts`, `${name} ends`]))
  })

  it('turns a failing tool into an observation and goes on', async () => {
    const toolManager = new ToolManager()
    toolManager.tool({ name: 'bad', description: '', parameters: z.object({}), permission: 'safe' }, () => {
      throw new Error('no luck')
    })
    const messages = start()
    const client = new ScriptedClient([{ toolCalls: [call('bad'), call('missing')] }, { text: 'I see.' }])
    expect(await runReact({ client, messages, toolManager })).toBe('I see.')
    expect(messages[3]!.content).toBe('Error: no luck')
    expect(messages[4]!.content).toMatch(/^Error: there is no tool "missing"/)
  })

  it('lets messages of people enter between steps, after all results, and does not hand them to onMessage', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const saved: string[] = []
    const meanwhile = [[user('also staging')], []]
    const client = new ScriptedClient([{ toolCalls: [call('echo'), call('echo', { x: 2 })] }, { text: 'ok' }])
    await runReact({
      client,
      messages,
      toolManager,
      nextInput: async () => meanwhile.shift()!,
      onMessage: (message) => void saved.push(message.role),
    })
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'tool',
      'user',
      'assistant',
    ])
    expect(saved).toEqual(['assistant', 'tool', 'tool', 'assistant'])
    expect(client.requests[1]!.messages.at(-1)).toEqual(user('also staging'))
  })

  it('throws a model error as it is and leaves valid messages', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const broken = new ModelError('server', 'boom')
    const client = new ScriptedClient([{ toolCalls: [call('echo')] }, { error: broken }])
    await expect(runReact({ client, messages, toolManager })).rejects.toBe(broken)
    expect(isWellFormed(messages)).toBe(true)
    expect(await runReact({ client: new ScriptedClient([{ text: 'again' }]), messages, toolManager })).toBe('again')
  })

  it('passes restarts of a broken stream on, and lets none happen where nobody listens', async () => {
    const { toolManager } = echoTools()
    const causes: Error[] = []
    const cause = new Error('cut')
    const restarting = () => new ScriptedClient([{ text: 'ha', broken: cause }, { text: 'whole' }])
    const common = { messages: start(), toolManager }
    const heard = await drain(
      streamReact({ ...common, client: restarting(), onRestart: (error) => causes.push(error) }),
    )
    expect(heard.answer).toBe('whole')
    expect(causes).toEqual([cause])
    await expect(drain(streamReact({ ...common, client: restarting() }))).rejects.toBe(cause)
  })

  it('ends the request when the reader leaves in the middle', async () => {
    let ended = false
    const client = new ScriptedClient()
    client.streamChat = async function* () {
      try {
        yield 'a'
        yield 'b'
        throw new Error('read on')
      } finally {
        ended = true
      }
    }
    for await (const piece of streamReact({ client, messages: start(), toolManager: new ToolManager() })) {
      expect(piece).toBe('a')
      break
    }
    expect(ended).toBe(true)
  })
})

describe('empty and cut answers', () => {
  it('asks once more after an empty answer, and stores no empty message (HR-07)', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const client = new ScriptedClient([{ text: '' }, { text: 'now' }])
    expect(await runReact({ client, messages, toolManager })).toBe('now')
    expect(messages.slice(2)).toEqual([{ role: 'assistant', content: 'now' }])
  })

  it('returns the empty string after two empty answers, with the messages as they were', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const client = new ScriptedClient([{ text: '' }, { text: ' \n' }])
    expect(await runReact({ client, messages, toolManager })).toBe('')
    expect(messages).toEqual(start())
  })

  it('says so when the output limit was reached twice before a word of the answer', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const cut = { finish: 'length' as const, text: '' }
    const lost: string[] = []
    const params = { onLostCall: ({ model }: { model: string }) => void lost.push(model) }
    const answer = await runReact({ client: new ScriptedClient([cut, cut]), messages, toolManager, params })
    expect(lost).toHaveLength(2)
    expect(answer).toBe('⚠️ The answer reached the output limit of the model and breaks off here.')
    expect(messages.slice(2)).toEqual([{ role: 'assistant', content: answer }])
  })

  it('runs no call of an answer that the output limit cut, and tells the model (TL-09)', async () => {
    const { toolManager, ran } = echoTools()
    const messages = start()
    const client = new ScriptedClient([
      { finish: 'length', toolCalls: [call('echo', { x: 1 }), call('echo', '{"x": "cut of')] },
      { text: 'ok' },
    ])
    expect(await runReact({ client, messages, toolManager })).toBe('ok')
    expect(ran).toEqual([])
    expect(messages[3]!.content).toMatch(/^Error: this call did not run, because the answer reached the output limit/)
    expect(isWellFormed(messages)).toBe(true)
  })

  it('runs no call of a cut answer after a restart either', async () => {
    const { toolManager, ran } = echoTools()
    const messages: Message[] = [...start(), { ...called(call('echo', { x: 1 })), cut: true }]
    await runReact({ client: new ScriptedClient([{ text: 'ok' }]), messages, toolManager })
    expect(ran).toEqual([])
  })

  it('drops the calls of a filtered answer, and reports one without text as refused', async () => {
    const { toolManager, ran } = echoTools()
    const filtered = { finish: 'filtered' as const, toolCalls: [call('echo')] }
    const messages = start()
    const client = new ScriptedClient([{ ...filtered, text: 'I may not' }, filtered])
    expect(await runReact({ client, messages, toolManager })).toBe(
      'I may not\n\n⚠️ The filter of the model provider broke the answer off here.',
    )
    await expect(runReact({ client, messages: start(), toolManager })).rejects.toMatchObject({ kind: 'refused' })
    expect(ran).toEqual([])
  })

  it('marks a text that the output limit cut, behind its open code block, and streams the mark too', async () => {
    const { toolManager } = echoTools()
    for (const [text, closed] of [
      ['Half', 'Half'],
      ['See:\n````js\n```\nlet x', 'See:\n````js\n```\nlet x\n````'],
      ['```\nlet x\n```\nand', '```\nlet x\n```\nand'],
    ] as const) {
      const messages = start()
      const client = new ScriptedClient([{ finish: 'length', text }])
      const { pieces, answer } = await drain(streamReact({ client, messages, toolManager }))
      expect(answer).toBe(`${closed}\n\n⚠️ The answer reached the output limit of the model and breaks off here.`)
      expect(pieces.join('')).toBe(answer)
      expect(messages.at(-1)).toEqual({ role: 'assistant', content: answer, cut: true })
    }
  })
})

describe('the limit of steps', () => {
  const calling = () => ({ toolCalls: [call('echo', { x: Math.random() })] })

  it('ends with a warning and the summary of one last request without tools', async () => {
    const { toolManager } = echoTools()
    const messages = start()
    const client = new ScriptedClient([calling(), calling(), { text: ['Half ', 'is done.'] }])
    const { pieces, answer } = await drain(streamReact({ client, messages, toolManager, maxSteps: 2 }))
    expect(answer).toBe('⚠️ I stopped after 2 steps without finishing.\n\nHalf is done.')
    expect(pieces.join('')).toBe(answer)
    expect(client.requests[2]!.params.tools).toBeUndefined()
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: answer })
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  it('ends with the warning alone when the last request fails or brings nothing', async () => {
    const { toolManager } = echoTools()
    const failing = { error: new ModelError('server', 'boom') }
    for (const last of [failing, { text: '' }, { toolCalls: [call('echo')] }]) {
      const messages = start()
      const answer = await runReact({
        client: new ScriptedClient([calling(), last]),
        messages,
        toolManager,
        maxSteps: 1,
      })
      expect(answer).toBe('⚠️ I stopped after 1 steps without finishing.')
      expect(messages.at(-1)).toEqual({ role: 'assistant', content: answer })
    }
  })

  it('says the warning again when the stream of the summary starts again', async () => {
    const { toolManager } = echoTools()
    const client = new ScriptedClient([calling(), { text: 'half', broken: new Error('cut') }, { text: 'whole' }])
    let shown = ''
    const stream = streamReact({ client, messages: start(), toolManager, maxSteps: 1, onRestart: () => (shown = '') })
    for (let next = await stream.next(); !next.done; next = await stream.next()) shown += next.value
    expect(shown).toMatch(/^⚠️ .*\n\nwhole$/)
  })

  it('holds over suspensions, and messages sent meanwhile do not renew it', async () => {
    const { toolManager } = echoTools()
    const messages: Message[] = [
      ...start(),
      called(call('echo', { x: 'old' }, 'old')),
      { role: 'tool', tool_call_id: 'old', content: 'echo old' },
    ]
    const client = new ScriptedClient([calling(), { text: 'summary' }])
    const answer = await runReact({ client, messages, toolManager, maxSteps: 2, nextInput: async () => [user('hm?')] })
    expect(answer).toMatch(/^⚠️ I stopped after 2 steps/)
  })

  it('is not renewed by messages sent meanwhile when a suspended run goes on', async () => {
    const { toolManager } = echoTools()
    const steering = user('hm?')
    const messages: Message[] = [
      ...start(),
      called(call('echo', { x: 1 }, 'a')),
      { role: 'tool', tool_call_id: 'a', content: 'echo 1' },
      steering,
      called(call('echo', { x: 2 }, 'b')),
    ]
    const client = new ScriptedClient([{ text: 'summary' }])
    const isSteering = (message: Message) => message === steering
    const answer = await runReact({ client, messages, toolManager, maxSteps: 2, isSteering })
    expect(answer).toMatch(/^⚠️ I stopped after 2 steps/)
  })

  it('starts anew with the next message of a person, also after a run that was stopped', async () => {
    const { toolManager } = echoTools()
    const messages: Message[] = [
      ...start(),
      called(call('echo', {}, 'old')),
      { role: 'tool', tool_call_id: 'old', content: 'Error: stopped before it ran' },
      user('go on'),
    ]
    const client = new ScriptedClient([calling(), { text: 'done' }])
    expect(await runReact({ client, messages, toolManager, maxSteps: 2 })).toBe('done')
  })
})

describe('identical calls', () => {
  it('get a hint at the third, and stop with a question to the people at the fifth with the same result', async () => {
    const { toolManager, ran } = echoTools()
    const messages = start()
    const spaced = ['{"x":1}', '{ "x": 1 }', '{"x":1}', '{"x" :1}', '{"x":1}', '{"x":1}']
    const client = new ScriptedClient(spaced.map((args) => ({ toolCalls: [call('echo', args)] })))
    const { pieces, answer } = await drain(streamReact({ client, messages, toolManager }))
    expect(ran).toHaveLength(5)
    expect(answer).toMatch(/going round in circles.*`echo`/)
    expect(pieces).toEqual([answer])
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content as string)
    expect(results.map((text) => text.includes('[Hint:'))).toEqual([false, false, true, true, true])
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: answer })
  })

  it('are the same whatever the order of their keys, and whatever name their long results were kept under', async () => {
    const keeper = { keep: async (_: string, { callKey }: { callKey: string }) => callKey, read: async () => undefined }
    const toolManager = new ToolManager({ keeper })
    toolManager.register(readResultTool(keeper))
    toolManager.tool(
      { name: 'list', description: '', parameters: z.object({ a: z.number(), b: z.number() }), permission: 'safe' },
      () => 'line\n'.repeat(3_000),
    )
    const turns = Array.from({ length: 6 }, (_, at) => (at % 2 ? '{"a":1,"b":2}' : '{"b":2,"a":1}'))
    const client = new ScriptedClient(turns.map((args) => ({ toolCalls: [call('list', args)] })))
    const messages = start()
    expect(await runReact({ client, messages, toolManager })).toMatch(/going round in circles.*`list`/)
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    expect(new Set(results).size).toBe(5)
  })

  it('may go on as long as their results differ', async () => {
    let count = 0
    const toolManager = new ToolManager()
    toolManager.tool(
      { name: 'poll', description: '', parameters: z.object({}), permission: 'safe' },
      () => `at ${count++}`,
    )
    const turns = Array.from({ length: 8 }, () => ({ toolCalls: [call('poll')] }))
    const client = new ScriptedClient([...turns, { text: 'finished' }])
    expect(await runReact({ client, messages: start(), toolManager })).toBe('finished')
  })
})

describe('calls that wait for people', () => {
  it('suspend the run after the safe calls of the step are answered and saved', async () => {
    const approver = say({})
    const { toolManager, ran } = echoTools(approver)
    const messages = start()
    const heard: string[] = []
    const client = new ScriptedClient([{ toolCalls: [call('write', { x: 1 }, 'w'), call('echo', { x: 2 }, 'e')] }])
    const run = runReact({
      client,
      messages,
      toolManager,
      onMessage: (message) => void heard.push(message.role),
      onToolCall: (name) => void heard.push(name),
    })
    const suspended = await run.catch((error) => error)
    expect(suspended).toBeInstanceOf(Suspended)
    expect(suspended.calls).toEqual([{ id: 'w', name: 'write', arguments: '{"x":1}', callKey: '2:0' }])
    expect(ran).toEqual(['echo 2'])
    expect(heard).toEqual(['assistant', 'echo', 'tool'])
    expect(unanswered(messages).map(({ call: { id } }) => id)).toEqual(['w'])
  })

  it('are asked about before any safe call of the step starts', async () => {
    const order: string[] = []
    const approver = say({})
    const verdict = approver.verdict.bind(approver)
    approver.verdict = (...args) => {
      order.push('card')
      return verdict(...args)
    }
    const { toolManager } = echoTools(approver)
    const client = new ScriptedClient([{ toolCalls: [call('echo'), call('write'), call('write', { x: 2 })] }])
    const run = runReact({ client, messages: start(), toolManager, onToolCall: () => void order.push('run') })
    await expect(run).rejects.toThrow(Suspended)
    expect(order).toEqual(['card', 'card', 'run'])
  })

  it('are answered first when the run is resumed, and the model is asked only when all are', async () => {
    const verdicts: Record<string, Verdict> = {}
    const approver = say(verdicts)
    const { toolManager, ran } = echoTools(approver)
    const messages = start()
    const client = new ScriptedClient([
      { toolCalls: [call('write', { x: 1 }), call('write', { x: 2 })] },
      { text: 'both' },
    ])
    const resume = () => runReact({ client, messages, toolManager })
    await expect(resume()).rejects.toThrow(Suspended)
    verdicts['2:1'] = { kind: 'approved', args: { x: 'two' }, attempt: 1, note: 'Ann changed x to "two".' }
    await expect(resume()).rejects.toThrow(Suspended)
    expect(ran).toEqual(['write two'])
    expect(messages.at(-1)!.content).toBe('Ann changed x to "two".\n\nwrote two')
    verdicts['2:0'] = { kind: 'denied', by: 'Bo', reason: 'not today' }
    expect(await resume()).toBe('both')
    expect(messages.at(-2)!.content).toMatch(/^Error: Bo said no to this call\. Their reason: not today/)
    expect(ran).toEqual(['write two'])
    expect(isWellFormed(messages)).toBe(true)
  })

  it('never run twice: an attempt that began without a known result waits for people', async () => {
    const approver = say({ '2:0': { kind: 'approved', args: {}, attempt: 1 } })
    await approver.begin('2:0', 1)
    const { toolManager, ran } = echoTools(approver)
    const messages: Message[] = [...start(), called(call('write'))]
    await expect(runReact({ client: new ScriptedClient(), messages, toolManager })).rejects.toThrow(Suspended)
    expect(ran).toEqual([])
  })
})

describe('stopping', () => {
  it('gives every open call a result, saves it, and throws the abort error', async () => {
    const controller = new AbortController()
    const approver = say({})
    const { toolManager } = echoTools(approver)
    const running = Promise.withResolvers<void>()
    toolManager.tool(
      { name: 'slow', description: '', parameters: z.object({}), permission: 'safe' },
      async (_, { signal }) => {
        running.resolve()
        await sleep(60_000, undefined, { signal })
      },
    )
    const messages = start()
    const saved: string[] = []
    const run = runReact({
      client: new ScriptedClient([{ toolCalls: [call('slow'), call('write'), call('echo')] }]),
      messages,
      toolManager,
      signal: controller.signal,
      onMessage: (message) => void saved.push(message.role),
    }).catch((error) => error)
    await running.promise
    controller.abort()
    expect(isAbort(await run)).toBe(true)
    expect(isWellFormed(messages)).toBe(true)
    expect(messages.slice(3).map(({ content }) => content)).toEqual([
      'Error: stopped before it finished',
      'echo undefined',
      'Error: stopped before it ran',
    ])
    expect(saved).toEqual(['assistant', 'tool', 'tool', 'tool'])
  })

  it('answers open calls of a run that is stopped before it is resumed', async () => {
    const { toolManager, ran } = echoTools()
    const messages: Message[] = [...start(), called(call('echo'), call('echo', { x: 2 }))]
    const run = runReact({ client: new ScriptedClient(), messages, toolManager, signal: AbortSignal.abort('by Ann') })
    expect(isAbort(await run.catch((error) => error))).toBe(true)
    expect(ran).toEqual([])
    expect(isWellFormed(messages)).toBe(true)
  })

  it('leaves calls open when the run is only paused, and keeps what finished in time', async () => {
    const controller = new AbortController()
    const { toolManager } = echoTools(say({}))
    const base = { description: '', parameters: z.object({}), permission: 'safe' as const }
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    toolManager.tool({ ...base, name: 'slow' }, async (_, { signal }) => {
      both[0].resolve()
      await sleep(60_000, undefined, { signal })
    })
    toolManager.tool({ ...base, name: 'finishes' }, async (_, { signal }) => {
      both[1].resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return 'just in time'
    })
    const messages = start()
    const client = new ScriptedClient([
      { toolCalls: [call('slow', {}, 's'), call('finishes', {}, 'f'), call('write', {}, 'w')] },
    ])
    const run = runReact({ client, messages, toolManager, signal: controller.signal }).catch((error) => error)
    await Promise.all(both.map(({ promise }) => promise))
    controller.abort(new Paused())
    const ended = await run
    expect(isAbort(ended)).toBe(true)
    expect(ended).toBeInstanceOf(Paused)
    expect(unanswered(messages).map(({ call: { id } }) => id)).toEqual(['s', 'w'])
    expect(messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'f', content: 'just in time' })
  })

  it('works while the model writes, and stores nothing of the unfinished text', async () => {
    const controller = new AbortController()
    const messages = start()
    const client = new ScriptedClient([{ text: ['a', 'b', 'c'] }])
    const stream = streamReact({ client, messages, toolManager: new ToolManager(), signal: controller.signal })
    expect((await stream.next()).value).toBe('a')
    controller.abort()
    expect(isAbort(await stream.next().catch((error) => error))).toBe(true)
    expect(messages).toEqual(start())
  })

  it('does not wait for ever for a tool that will not end', async () => {
    const controller = new AbortController()
    const toolManager = new ToolManager({ stopGraceMs: 20 })
    const running = Promise.withResolvers<void>()
    toolManager.tool({ name: 'deaf', description: '', parameters: z.object({}), permission: 'safe' }, () => {
      running.resolve()
      return new Promise(() => {})
    })
    const messages = start()
    const client = new ScriptedClient([{ toolCalls: [call('deaf')] }])
    const run = runReact({ client, messages, toolManager, signal: controller.signal }).catch((error) => error)
    await running.promise
    controller.abort()
    expect(isAbort(await run)).toBe(true)
    expect(messages.at(-1)!.content).toMatch(/^Error: stopped, but it did not end within 0.02 s/)
  })

  it('ends tools that run beside one whose callback failed, and passes the failure on', async () => {
    const { toolManager } = echoTools()
    const ended = Promise.withResolvers<string>()
    toolManager.tool(
      { name: 'slow', description: '', parameters: z.object({}), permission: 'safe' },
      async (_, { signal }) => {
        await sleep(60_000, undefined, { signal }).catch(() => ended.resolve('ended'))
      },
    )
    const run = runReact({
      client: new ScriptedClient([{ toolCalls: [call('echo'), call('slow')] }]),
      messages: start(),
      toolManager,
      onToolResult: () => {
        throw new Error('the store is gone')
      },
    })
    await expect(run).rejects.toThrow('the store is gone')
    expect(await ended.promise).toBe('ended')
  })
})
