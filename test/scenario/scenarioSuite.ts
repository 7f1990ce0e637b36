import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGate, type LlmDouble, startLlmDouble } from '../doubles/llm/server.ts'
import { makeHome, type Program, type ProgramHome, until } from './program.ts'

/** A thread as the hooks of a platform know it. */
export type Handle = unknown

/** A message in a thread as people see it. */
export interface Seen {
  id: string
  text: string
  isBot: boolean
}

/** What a platform's double can do, in the words of the scenarios. */
export interface ScenarioWorld {
  /** Environment that points the program at the double. */
  settings: Record<string, string>
  /** Called after each start of the program, with its address. */
  started(url: string): Promise<void>
  /** Somebody begins a conversation with the bot. Resolves to the thread in which it will answer. */
  begin(text: string): Promise<Handle>
  /** Somebody goes on in the thread without naming the bot. */
  reply(thread: Handle, text: string): Promise<void>
  /** Somebody names the bot in the thread. */
  mention(thread: Handle, text: string): Promise<void>
  /** Somebody types `/plan TASK` outside of a thread. Resolves to the thread that comes of it. */
  plan(task: string): Promise<Handle>
  seen(thread: Handle): Seen[] | Promise<Seen[]>
  /** Names of files in the thread. */
  files(thread: Handle): string[] | Promise<string[]>
  /** Texts of files in the thread. */
  fileText(thread: Handle, name: string): string | Promise<string>
  close(): Promise<void>
}

const TOOL_STEP = { toolCalls: [{ name: 'list_directory', arguments: { path: '.' } }] }

/** What every platform promises, seen from outside of the started program. */
export function scenarioSuite(name: string, openWorld: () => Promise<ScenarioWorld>): void {
  describe(`${name}: the started program`, () => {
    let world: ScenarioWorld
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
      program = await start()
    })

    afterEach(async () => {
      await home.remove()
      await Promise.all([world.close(), llm.close()])
    })

    async function start(): Promise<Program> {
      const started = await home.start()
      await world.started(started.url)
      return started
    }

    const botTexts = async (thread: Handle) =>
      (await world.seen(thread)).filter(({ isBot }) => isBot).map(({ text }) => text)
    const whole = async (thread: Handle) => (await world.seen(thread)).map(({ text }) => text).join('\n---\n')
    let lastSeen = ''
    const shows = (thread: Handle, text: string, ms?: number) =>
      until(
        `the thread shows "${text}"`,
        async () => {
          lastSeen = await whole(thread)
          return lastSeen.includes(text)
        },
        {
          ...(ms && { ms }),
          seen: () => `${program.stderr().slice(-3000)}\nmodel: ${llm.problems().join('; ')}\n${lastSeen}`,
        },
      )
    const count = async (thread: Handle, text: string) =>
      (await botTexts(thread)).filter((seen) => seen.includes(text)).length

    test('a mention becomes a streamed answer that grows in one message, with a reply for the tool call', async () => {
      const gate = createGate()
      llm.reply(TOOL_STEP, { text: ['The first half, ', 'and the second half.'], gate })
      const thread = await world.begin('what is in the workspace?')
      await until('the call is shown with its result', async () => (await whole(thread)).includes('README.md'), {
        seen: () => program.stderr(),
      })
      gate.release(1)
      await shows(thread, 'The first half,')
      const live = (await world.seen(thread)).find(({ text }) => text.includes('The first half'))!
      gate.open()
      await shows(thread, 'and the second half.')
      const final = (await world.seen(thread)).find(({ text }) => text.includes('and the second half.'))!
      expect(final.id).toBe(live.id)
      await shows(thread, 'test-model')
      expect(await count(thread, 'The first half')).toBe(1)
      expect(await count(thread, 'list_directory')).toBe(1)
      expect(llm.problems()).toEqual([])
    })

    test('a follow-up knows what was said before, and says who is speaking', async () => {
      llm.reply({ text: 'Noted.' }, { text: 'It is fig.' })
      const thread = await world.begin('my word is fig')
      await shows(thread, 'Noted.')
      await world.reply(thread, 'what is my word?')
      await shows(thread, 'It is fig.')
      const asked = llm.requests.at(-1)!.body.messages.map(({ role, content }) => [role, content])
      expect(asked.map(([role]) => role)).toEqual(['system', 'user', 'assistant', 'user'])
      expect(asked[1]![1]).toMatch(/^\S.*: my word is fig$/)
      expect(asked[2]![1]).toBe('Noted.')
    })

    test('/plan asks the planner in a thread of its own, and a mention there carries on from the plan', async () => {
      llm.reply({ text: ['1. Look.\n', '2. Leap.'] }, { text: 'Starting with step 1.' })
      const thread = await world.plan('cross the river')
      await shows(thread, '2. Leap.')
      expect(llm.requests[0]!.body.tools).toBeUndefined()
      expect(llm.requests[0]!.lastUser).toContain('cross the river')
      await world.mention(thread, 'go on')
      await shows(thread, 'Starting with step 1.')
      const history = JSON.stringify(llm.requests[1]!.body.messages)
      expect(history).toContain('cross the river')
      expect(history).toContain('2. Leap.')
    })

    test('a plan can be asked for in a thread by naming the bot', async () => {
      llm.reply({ text: 'Hello.' }, { text: 'The plan: none needed.' })
      const thread = await world.begin('hello')
      await shows(thread, 'Hello.')
      await world.mention(thread, 'plan the weekend')
      await shows(thread, 'The plan: none needed.')
      expect(llm.requests[1]!.lastUser).toContain('the weekend')
      expect(llm.requests[1]!.body.tools).toBeUndefined()
    })

    test('"review" has three reviewers look at once, and shows their findings merged', async () => {
      llm.respond(({ body, system, lastUser }) => {
        if (lastUser.startsWith('<input>')) return { text: 'Merged: one thing to mend.' }
        const reads = body.messages.some(({ role }) => role === 'tool')
        if (!reads) return { toolCalls: [{ name: 'read_file', arguments: { path: 'src/split.js' } }] }
        return { text: `Finding of ${/security|performance|style/i.exec(system)?.[0]}` }
      })
      const thread = await world.begin('review src/split.js')
      await shows(thread, 'Merged: one thing to mend.')
      const merged = llm.requests.find(({ lastUser }) => lastUser.startsWith('<input>'))!.lastUser
      expect(merged.match(/Finding of \w+/gi)?.length).toBe(3)
      expect(llm.problems()).toEqual([])
    })

    test('after a restart the thread goes on where it was', async () => {
      llm.reply({ text: 'Noted.' })
      const thread = await world.begin('my word is fig')
      await shows(thread, 'test-model')
      expect(await program.stop()).toBe(0)
      program = await start()
      llm.reply({ text: 'It is fig.' })
      await world.reply(thread, 'what is my word?')
      await shows(thread, 'It is fig.')
      expect(JSON.stringify(llm.requests.at(-1)!.body.messages)).toContain('my word is fig')
      expect(await count(thread, 'Noted.')).toBe(1)
    })

    test('"activity" sets what this thread shows of tool calls, for as long as nobody says otherwise', async () => {
      llm.reply({ text: 'Hello.' })
      const thread = await world.begin('hello')
      await shows(thread, 'Hello.')
      await world.mention(thread, 'activity off')
      await shows(thread, 'shows of my tool calls: off')
      for (const answer of ['It is quiet.', 'It is quiet after a restart.']) {
        llm.reply(TOOL_STEP, { text: answer })
        await world.reply(thread, 'look around')
        await shows(thread, answer)
        expect(await count(thread, 'list_directory')).toBe(0)
        expect(await program.stop()).toBe(0)
        program = await start()
      }
      await world.mention(thread, 'activity full')
      await shows(thread, 'shows of my tool calls: full')
      llm.reply(TOOL_STEP, { text: 'It is loud.' })
      await world.mention(thread, 'activity in this folder?')
      await shows(thread, 'It is loud.')
      await until('the call is shown', async () => (await count(thread, 'list_directory')) === 1)
    })

    test('an answer that took long ends with a message that tells who asked, once, since edits tell nobody', async () => {
      expect(await program.stop()).toBe(0)
      writeFileSync(join(home.folder, 'toycoder.yml'), 'delivery: { notify_after: 1s }\n')
      program = await start()
      const gate = createGate()
      llm.reply({ text: ['It begins ', 'and it ends.'], gate })
      const thread = await world.begin('take your time')
      gate.release(1)
      await shows(thread, 'It begins')
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      gate.open()
      await shows(thread, 'and it ends.')
      await shows(thread, 'test-model')
      const times = name === 'Console' ? 0 : 1
      await until('who asked is told', async () => (await count(thread, 'My answer is complete')) === times)
      expect(await program.stop()).toBe(0)
      program = await start()
      llm.reply({ text: 'A short one.' })
      await world.reply(thread, 'and now?')
      await shows(thread, 'A short one.')
      await shows(thread, 'test-model')
      expect(await count(thread, 'My answer is complete')).toBe(times)
    })

    test('kill -9 in the middle of an answer: after the restart the answer appears, once, in the same message', async () => {
      const gate = createGate()
      llm.reply({ text: ['Half of it ', 'is here.'], gate })
      const thread = await world.begin('tell me')
      gate.release(1)
      await shows(thread, 'Half of it')
      await program.kill()
      llm.reply({ text: 'All of it is here.' })
      program = await start()
      await shows(thread, 'All of it is here.')
      await shows(thread, 'test-model')
      expect((await botTexts(thread)).length).toBe(1)
      expect(llm.requests.length).toBe(2)
      gate.open()
    })

    test('SIGTERM lets a live answer finish, then ends with 0 within 10 seconds', async () => {
      const gate = createGate()
      llm.reply({ text: ['Nearly ', 'done.'], gate })
      const thread = await world.begin('tell me')
      gate.release(1)
      await shows(thread, 'Nearly')
      const began = Date.now()
      const ended = program.stop()
      gate.open()
      expect(await ended).toBe(0)
      expect(Date.now() - began).toBeLessThan(10_000)
      program = await start()
      expect(await whole(thread)).toContain('Nearly done.')
      expect(await whole(thread)).toContain('test-model')
    })

    test('messages that come during a run are kept in order and answered', async () => {
      const gate = createGate()
      llm.respond(({ body, lastUser }) => {
        const text = JSON.stringify(body.messages)
        if (lastUser.includes('sum a.csv') && !text.includes('b.csv')) return { text: ['a sums ', 'to 1.'], gate }
        return { text: `Answering: ${lastUser}` }
      })
      const thread = await world.begin('sum a.csv')
      gate.release(1)
      await shows(thread, 'a sums')
      await world.reply(thread, 'and b.csv')
      await world.reply(thread, 'and c.csv')
      gate.open()
      await shows(thread, 'to 1.')
      await until('the last message is answered', async () => (await whole(thread)).match(/Answering: .*c\.csv/), {
        seen: () => program.stderr().slice(-2000),
      })
      const users = llm.requests
        .at(-1)!
        .body.messages.filter(({ role }) => role === 'user')
        .map(({ content }) => String(content))
      expect(users.map((content) => content.replace(/^.*?: /, ''))).toEqual(['sum a.csv', 'and b.csv', 'and c.csv'])
      const texts = await world.seen(thread)
      const answer = texts.findIndex(({ text }) => /Answering: .*c\.csv/.test(text))
      const question = texts.findIndex(({ text, isBot }) => !isBot && text.includes('and c.csv'))
      expect(answer).toBeGreaterThan(question)
    })

    test('a model that fails is told in one sentence, and the next message is answered', async () => {
      llm.respond(({ lastUser }) =>
        lastUser.includes('again') ? { text: 'Back.' } : { status: 400, error: { error: { message: 'no' } } },
      )
      const thread = await world.begin('hello')
      await shows(thread, '⚠️')
      await world.reply(thread, 'again')
      await shows(thread, 'Back.')
      const users = llm.requests.at(-1)!.body.messages.filter(({ role }) => role === 'user')
      expect(users.length).toBe(2)
    })

    test('"stop" ends the run within a second or two, keeps the text and says who stopped it', async () => {
      const gate = createGate()
      llm.reply({ text: ['I go on ', 'and on.'], gate })
      const thread = await world.begin('talk')
      gate.release(1)
      await shows(thread, 'I go on')
      await world.mention(thread, 'stop')
      await shows(thread, 'Stopped by')
      expect(await whole(thread)).not.toContain('and on.')
      llm.reply({ text: 'Here again.' })
      await world.mention(thread, 'hello?')
      await shows(thread, 'Here again.')
      gate.open()
    })

    test('"share" puts the transcript into the thread as a Markdown file, without known secrets', async () => {
      llm.reply({ text: 'The key is not for you.' })
      const token = `ghp_${'a1B2'.repeat(9)}`
      const thread = await world.begin(`my token is ${token}, is that safe?`)
      await shows(thread, 'not for you')
      await world.mention(thread, 'share')
      const files = await until('a file is in the thread', async () => {
        const found = await world.files(thread)
        return found.length > 0 ? found : null
      })
      expect(files[0]).toMatch(/^transcript.*\.md$/)
      const transcript = await world.fileText(thread, files[0]!)
      expect(transcript).toContain('not for you')
      expect(transcript).not.toContain(token)
    })
  })
}
