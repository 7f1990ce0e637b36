import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { makeHome, type Program, type ProgramHome, until } from './program.ts'
import type { Handle, ScenarioWorld } from './scenarioSuite.ts'

/** What people can do with cards on a platform, in the words of the scenarios. */
export interface ApprovalWorld extends ScenarioWorld {
  /** Labels of the buttons in the thread, those for one person alone too; oldest message first. */
  buttons(thread: Handle): Promise<string[]> | string[]
  /** Somebody presses the newest button with this label. Resolves when the platform has its answer. */
  press(thread: Handle, label: string, by?: 'asker' | 'other'): Promise<void>
  /** The dialog that the last press opened is sent off; fields that are not named stay as they are. */
  submit(fields: Record<string, string>): Promise<void>
  /** A button of this action and value that the bot never made is pressed in the thread. */
  forge(thread: Handle, action: string, value: string): Promise<void>
  /** What was said to somebody alone, all of it; empty where the platform has no means. */
  saidAlone(thread: Handle): Promise<string> | string
  /** Who may be `other`; false where there is one person only. */
  severalPeople: boolean
  /** So many lines of text are too much for a card. */
  tooManyLines: number
}

const write = (content: string, path = 'note.txt') => ({
  toolCalls: [{ name: 'write_file', arguments: { path, content } }],
})
const run = (command: string) => ({ toolCalls: [{ name: 'run_command', arguments: { command } }] })

/** What every platform promises of approvals, seen from outside of the started program. */
export function approvalScenarios(name: string, openWorld: () => Promise<ApprovalWorld>): void {
  describe(`${name}: approvals in the started program`, () => {
    let world: ApprovalWorld
    let llm: LlmDouble
    let home: ProgramHome
    let program: Program

    beforeEach(async () => {
      world = await openWorld()
      llm = await startLlmDouble()
      home = makeHome({
        ...world.settings,
        ...llm.env,
      })
    })

    afterEach(async () => {
      await home.remove()
      await Promise.all([world.close(), llm.close()])
    })

    async function start(settings: object = {}): Promise<void> {
      const providers = { double: { api_keys: [llm.apiKey], base_url: llm.baseUrl, models: { default: 'test-model' } } }
      writeFileSync(join(home.folder, 'toycoder.yml'), JSON.stringify({ providers, ...settings }))
      program = await home.start()
      await world.started(program.url)
    }

    const file = (path: string) => join(home.folder, 'workspace', path)
    const content = (path: string) => (existsSync(file(path)) ? readFileSync(file(path), 'utf8') : null)
    const whole = async (thread: Handle) => (await world.seen(thread)).map(({ text }) => text).join('\n---\n')
    const seen = () => `${program.stderr().slice(-3000)}\nmodel: ${llm.problems().join('; ')}`
    const shows = (thread: Handle, text: string | RegExp, ms?: number) =>
      until(
        `the thread shows ${text}`,
        async () => {
          const all = await whole(thread)
          return typeof text === 'string' ? all.includes(text) : text.test(all)
        },
        { ...(ms && { ms }), seen },
      )
    const offers = (thread: Handle, label: string) =>
      until(`the thread offers "${label}"`, async () => (await world.buttons(thread)).includes(label), { seen })
    const toolResults = () =>
      llm.requests
        .at(-1)!
        .body.messages.filter(({ role }) => role === 'tool')
        .map(({ content }) => String(content))

    test('a write waits for a yes: the card has the diff, the file is written once, the card says who', async () => {
      await start()
      llm.reply(write('hello\n'), { text: 'It is written.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      expect(await whole(thread)).toContain('+hello')
      expect(content('note.txt')).toBeNull()
      expect(llm.requests).toHaveLength(1)
      await world.press(thread, 'Approve')
      await shows(thread, 'It is written.')
      await shows(thread, /Approved by/)
      expect(content('note.txt')).toBe('hello\n')
      expect(await world.buttons(thread)).not.toContain('Approve')
    })

    test('a no with its reason reaches the model, and nothing is written', async () => {
      await start()
      llm.reply(write('hello\n'), { text: 'As you like.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Deny…')
      await world.press(thread, 'Deny…')
      await world.submit({ reason: 'use another file' })
      await shows(thread, 'As you like.')
      await shows(thread, /Denied by/)
      expect(toolResults()[0]).toContain('use another file')
      expect(content('note.txt')).toBeNull()
    })

    test('what was edited is what runs, with a card of its own, and the model is told', async () => {
      await start()
      llm.reply(write('hello\n'), { text: 'Done.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Edit…')
      await world.press(thread, 'Edit…')
      await world.submit({ content: 'goodbye\n' })
      await shows(thread, 'Done.')
      expect(content('note.txt')).toBe('goodbye\n')
      expect(await whole(thread)).toContain('+goodbye')
      expect(toolResults()[0]).toMatch(/changed the arguments before this ran.*goodbye/)
    })

    test('nothing waits in memory: after kill -9 and a restart the same button works', async () => {
      await start()
      llm.reply(write('hello\n'), { text: 'It is written.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      await program.kill()
      await start()
      await world.press(thread, 'Approve')
      await shows(thread, 'It is written.')
      expect(content('note.txt')).toBe('hello\n')
      expect((await world.seen(thread)).filter(({ text }) => text.includes('May I run'))).toHaveLength(1)
    })

    test('"always" covers the next edit of a file, until "new"', async () => {
      await start()
      llm.reply(write('one'), write('two', 'other.txt'), { text: 'Both are written.' })
      const thread = await world.begin('write two notes')
      await offers(thread, 'Always in this thread')
      await world.press(thread, 'Always in this thread')
      await shows(thread, 'Both are written.')
      expect([content('note.txt'), content('other.txt')]).toEqual(['one', 'two'])
      await world.mention(thread, 'new')
      await shows(thread, 'Fresh start')
      llm.reply(write('three'), { text: 'Changed.' })
      await world.mention(thread, 'write another')
      await offers(thread, 'Approve')
      expect(content('note.txt')).toBe('one')
    })

    test('messages meanwhile wait, their sender is told, and "deny all" takes them next', async () => {
      await start()
      llm.reply(write('hello\n'), { text: 'No note, but a poem.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      await world.reply(thread, 'rather a poem')
      await offers(thread, 'Deny all and use this message')
      expect(llm.requests).toHaveLength(1)
      await world.press(thread, 'Deny all and use this message')
      await shows(thread, 'No note, but a poem.')
      expect(llm.requests[1]!.lastUser).toContain('rather a poem')
      expect(content('note.txt')).toBeNull()
    })

    test('"stop" gives up what waits, and says who; the thread goes on afterwards', async () => {
      await start()
      llm.reply(write('hello\n'))
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      await world.mention(thread, 'stop')
      await shows(thread, /Stopped by/)
      await until('the card has no buttons', async () => !(await world.buttons(thread)).includes('Approve'), { seen })
      llm.reply({ text: 'Here I am.' })
      await world.mention(thread, 'hello again')
      await shows(thread, 'Here I am.')
      expect(content('note.txt')).toBeNull()
      expect(llm.problems()).toEqual([])
    })

    test('a question is answered by a button, and the next one in words', async () => {
      await start()
      const ask = (question: string, options: string[] = []) => ({
        toolCalls: [{ name: 'ask_user', arguments: { question, options } }],
      })
      llm.reply(ask('Which colour?', ['red', 'blue']), ask('Which name?'), { text: 'Thanks.' })
      const thread = await world.begin('ask me')
      await offers(thread, 'blue')
      await world.press(thread, 'blue')
      await shows(thread, 'Which name?')
      expect(toolResults()[0]).toMatch(/answered: blue/)
      await world.reply(thread, 'Fig')
      await shows(thread, 'Thanks.')
      expect(toolResults()[1]).toMatch(/answered: Fig/)
      expect(llm.requests).toHaveLength(3)
    })

    test('nobody decides: the call is off at its time, without anybody having to look', async () => {
      await start({ approvals: { expires: '2s' } })
      llm.reply(write('hello\n'), { text: 'Then not.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      await shows(thread, 'Then not.')
      await shows(thread, /Nobody decided/)
      expect(toolResults()[0]).toContain('nobody decided')
      expect(content('note.txt')).toBeNull()
    })

    test('nobody answers a question: the model is told at its time', async () => {
      await start({ approvals: { tools: { ask_user: { expires: '2s' } } } })
      llm.reply(
        { toolCalls: [{ name: 'ask_user', arguments: { question: 'Which colour?' } }] },
        { text: 'I took red.' },
      )
      const thread = await world.begin('ask me')
      await shows(thread, 'Which colour?')
      await shows(thread, 'I took red.')
      await shows(thread, /Nobody answered/)
      expect(toolResults()[0]).toContain('nobody answered in time')
    })

    test('a change that is too long for a card goes along as a file, and can be approved then (AP-03)', async () => {
      await start()
      const long = Array.from({ length: world.tooManyLines }, (_, line) => `line ${line} of a long note`).join('\n')
      llm.reply(write(long), { text: 'It is written.' })
      const thread = await world.begin('write a long note')
      await offers(thread, 'Approve')
      await shows(thread, /The first \d+ of \d+ lines/)
      const name = (await world.files(thread)).find((one) => one.endsWith('.diff'))!
      expect(await world.fileText(thread, name)).toContain(`+line ${world.tooManyLines - 1} of a long note`)
      await world.press(thread, 'Approve')
      await shows(thread, 'It is written.')
      expect(content('note.txt')).toBe(long)
    })

    test('a click is answered and the card settled while the run of the thread is busy', async () => {
      await start()
      const gate = createGate()
      const { toolCalls } = write('hello\n')
      llm.respond(({ body }) => {
        if (!body.tools) return { text: ['1. ', 'Wait.'], gate }
        const isDone = body.messages.at(-1)!.role === 'tool'
        return isDone
          ? { text: 'Both done.' }
          : { toolCalls: [...toolCalls, { name: 'planner', arguments: { query: 'wait' } }] }
      })
      const thread = await world.begin('write while you plan')
      await offers(thread, 'Approve')
      await until('the planner is at work', () => gate.waiting > 0, { seen })
      await world.press(thread, 'Approve')
      await shows(thread, /Approved by/, 3_000)
      expect(content('note.txt')).toBeNull()
      gate.open()
      await shows(thread, 'Both done.')
      expect(content('note.txt')).toBe('hello\n')
    })

    test('a button that the bot never made does nothing, and is logged', async () => {
      await start()
      llm.reply(write('hello\n'))
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      for (const value of ['c99.0/1', 'c1.0/7', 'c1.0/x', '../../x', '']) await world.forge(thread, 'approve', value)
      await until('it is logged', () => program.stderr().includes('names nothing that waits here'), { seen })
      expect(content('note.txt')).toBeNull()
      expect(llm.requests).toHaveLength(1)
    })

    test('commands are off until an admin of the bot switches them on; then each asks', async () => {
      await start({ sandbox: 'none' })
      llm.reply({ text: 'I have no commands.' })
      const thread = await world.begin('run something')
      await shows(thread, 'I have no commands.')
      expect(JSON.stringify(llm.requests[0]!.body.tools)).not.toContain('run_command')
      await world.mention(thread, 'tool enable run_command')
      await shows(thread, /switched.*run_command.*on in this thread/)
      llm.reply(run('echo it ran > proof.txt; echo visible'), { text: 'It ran.' })
      await world.mention(thread, 'now run it')
      await offers(thread, 'Approve')
      expect(content('proof.txt')).toBeNull()
      await world.press(thread, 'Approve')
      await shows(thread, 'It ran.')
      expect(content('proof.txt')).toBe('it ran\n')
      expect(toolResults().at(-1)).toContain('visible')
      await world.mention(thread, 'audit')
      await shows(thread, /approved[\s\S]*begun[\s\S]*finished/)
      const { code, stdout } = await home.startAndEnd({}, ['audit', '--json'])
      const told = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { what: string; tool?: string })
      expect(code).toBe(0)
      expect(told.map(({ what }) => what)).toEqual(['switched on', 'asked', 'voted', 'approved', 'begun', 'finished'])
      expect(told.every(({ tool }) => tool === 'run_command')).toBe(true)
    })

    test('kill -9 in a command: nobody runs it again unasked; "Skip" goes on without, "Run again" runs it once', async () => {
      await start({ sandbox: 'none', tools: { enabled: ['run_command'] } })
      for (const [choice, runs] of [
        ['Skip', 1],
        ['Run again', 2],
      ] as const) {
        const proof = `proof-${runs}.txt`
        llm.reply(run(`echo x >> ${proof}; [ $(wc -l < ${proof}) -gt 1 ] || sleep 30`), { text: `Went on: ${choice}.` })
        const thread = await world.begin(`do it, ${choice}`)
        await offers(thread, 'Approve')
        await world.press(thread, 'Approve')
        await until('the command runs', () => content(proof) === 'x\n', { seen })
        await program.kill()
        await start({ sandbox: 'none', tools: { enabled: ['run_command'] } })
        await offers(thread, choice)
        await shows(thread, 'was interrupted')
        expect(content(proof)).toBe('x\n')
        await world.press(thread, choice)
        await shows(thread, `Went on: ${choice}.`)
        expect(content(proof)).toBe('x\n'.repeat(runs))
      }
    })

    test('two calls of one step have a card each, and the model is asked when both are decided', async () => {
      await start()
      const calls = [write('one', 'a.txt'), write('two', 'b.txt')].flatMap(({ toolCalls }) => toolCalls)
      llm.reply({ toolCalls: calls.map((call) => ({ ...call, id: 'call_0' })) }, { text: 'One of two.' })
      const thread = await world.begin('write two')
      await until(
        'there are two cards',
        async () => (await world.buttons(thread)).filter((label) => label === 'Approve').length === 2,
        { seen },
      )
      await world.press(thread, 'Approve')
      await until('one is decided', () => content('b.txt') === 'two', { seen })
      expect(llm.requests).toHaveLength(1)
      await world.press(thread, 'Deny…')
      await world.submit({})
      await shows(thread, 'One of two.')
      expect(content('a.txt')).toBeNull()
      expect(toolResults()).toHaveLength(2)
    })

    test('who decides and how many is the rule of the configuration', async (context) => {
      if (!world.severalPeople) context.skip('there is one person only')
      await start({ approvals: { tools: { write_file: { who: 'not_requester' } } } })
      llm.reply(write('hello\n'), { text: 'It is written.' })
      const thread = await world.begin('write a note')
      await offers(thread, 'Approve')
      await world.press(thread, 'Approve', 'asker')
      await until('the asker is told', async () => (await world.saidAlone(thread)).includes('not yours to decide'), {
        seen,
      })
      expect(content('note.txt')).toBeNull()
      await world.press(thread, 'Approve', 'other')
      await shows(thread, 'It is written.')
      expect(content('note.txt')).toBe('hello\n')
    })
  })
}
