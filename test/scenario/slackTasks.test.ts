import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Fields } from '../doubles/slack/world.ts'
import { until } from './program.ts'
import { CHANNEL, useSlackBot } from './slackBot.ts'

/** Looks like one of GitHub's. */
const TOKEN = `ghp_${'a1B2'.repeat(9)}`
const call = (name: string, path: string) => ({ name, arguments: { path } })

describe('what the started program shows of its calls on Slack', () => {
  const bot = useSlackBot()
  const { shows } = bot
  const blocks = (ts: string) => bot.slack.thread(CHANNEL, ts).flatMap((message) => message.blocks ?? [])
  const cards = (ts: string) => blocks(ts).filter(({ type }) => type === 'task_card')
  const seen = (ts: string) => bot.slack.threadText(CHANNEL, ts)
  const write = (name: string, content: string) => writeFileSync(join(bot.home.folder, 'workspace', name), content)

  test('a card for each call, from running to its result; what failed says so, and secrets are masked', async () => {
    write('secrets.txt', `the key is ${TOKEN}, keep it`)
    const states: unknown[] = []
    bot.slack.world.onShown = (_, { blocks = [] }) =>
      states.push(...blocks.filter(({ type }) => type === 'task_card').map(({ status }) => status))
    bot.llm.reply(
      { toolCalls: [call('read_file', 'secrets.txt')] },
      { toolCalls: [call('read_file', `missing/${TOKEN}.txt`)] },
      { text: 'I have looked.' },
    )
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'look around')
    await shows(ts, 'I have looked.')
    await until('both calls have ended', () => cards(ts).every(({ status }) => status !== 'in_progress'))
    expect(cards(ts)).toMatchObject([
      { title: 'read_file secrets.txt', status: 'complete' },
      { title: expect.stringMatching(/^read_file missing\//), status: 'error' },
    ])
    expect(states[0]).toBe('in_progress')
    expect(seen(ts)).toContain(', keep it')
    expect(JSON.stringify(bot.slack.thread(CHANNEL, ts))).not.toContain(TOKEN)
    const texts = bot.slack.thread(CHANNEL, ts).map(({ text }) => text)
    expect(texts.filter((text) => text.startsWith('read_file secrets.txt'))).toHaveLength(1)
  })

  test('many calls in a row share plans, and none is left out', async () => {
    const names = Array.from({ length: 9 }, (_, n) => `file${n}.txt`)
    for (const name of names) write(name, `content of ${name}`)
    bot.llm.reply({ toolCalls: names.map((name) => call('read_file', name)) }, { text: 'All read.' })
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'read them all')
    await shows(ts, 'All read.')
    await until('all calls have ended', () => !/◌/.test(seen(ts)))
    const plans = blocks(ts).filter(({ type }) => type === 'plan')
    expect(plans.length).toBeGreaterThan(0)
    for (const { title, tasks } of plans) expect(title).toBe(`${(tasks as Fields[]).length} tool calls`)
    for (const name of names) expect(seen(ts).split(`✓ read_file ${name}`), name).toHaveLength(2)
    expect(seen(ts)).toContain('content of file8.txt')
  })

  test('results with `activity full`, titles with `compact`, nothing with `off`', async () => {
    write('note.txt', 'words of the note')
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'activity compact')
    await shows(ts, 'compact')
    for (const level of ['compact', 'off', 'full']) {
      bot.slack.mention('U0ANNA', CHANNEL, `activity ${level}`, { threadTs: ts })
      await until(`it is ${level}`, () => seen(ts).includes(`shows of my tool calls: ${level}`))
      const before = cards(ts).length
      bot.llm.reply({ toolCalls: [call('read_file', 'note.txt')] }, { text: `Read, ${level}ly.` })
      bot.slack.mention('U0ANNA', CHANNEL, 'read it', { threadTs: ts })
      await shows(ts, `Read, ${level}ly.`)
      expect(cards(ts).length - before, level).toBe(level === 'off' ? 0 : 1)
      if (level === 'off') continue
      await until('it has ended', () => cards(ts).at(-1)!.status === 'complete')
      expect(JSON.stringify(cards(ts).at(-1)).includes('words of the note'), level).toBe(level === 'full')
    }
  })

  test('text as ever in a workspace that refuses the cards', async () => {
    bot.slack.world.refusedBlocks.add('task_card').add('plan')
    write('note.txt', 'words of the note')
    bot.llm.reply(
      { toolCalls: [call('read_file', 'note.txt')] },
      { toolCalls: [call('list_directory', '.')] },
      { text: 'Done.' },
    )
    const ts = bot.slack.mention('U0ANNA', CHANNEL, 'look around')
    await shows(ts, 'Done.')
    await until('both calls have ended', () => /`list_directory` `\.`\n```/.test(seen(ts)), { seen: () => seen(ts) })
    expect(seen(ts)).toMatch(/`read_file` `note\.txt`\n```[^`]*words of the note/)
    const refused = bot.slack.calls().filter(({ answer }) => answer?.error === 'invalid_blocks')
    expect(refused).toHaveLength(1)
  })
})
