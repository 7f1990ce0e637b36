import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type SlackDouble, startSlackDouble } from '../doubles/slack/slackDouble.ts'
import type { Fields } from '../doubles/slack/world.ts'

describe('the Slack double', () => {
  let slack: SlackDouble
  beforeEach(async () => {
    slack = await startSlackDouble()
  })
  afterEach(() => slack.close())

  async function call(method: string, args: Fields, token: string | null = slack.botToken): Promise<Fields> {
    const form = Object.entries(args).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ])
    const headers = token ? { authorization: `Bearer ${token}` } : undefined
    const answer = await fetch(slack.apiUrl + method, {
      method: 'POST',
      body: new URLSearchParams(form as [string, string][]),
      ...(headers && { headers }),
    })
    return (await answer.json()) as Fields
  }
  const post = (args: Fields) => call('chat.postMessage', { channel: 'C0DEV', ...args })

  test('takes JSON, forms and multipart forms alike', async () => {
    const headers = { authorization: `Bearer ${slack.botToken}` }
    const body = JSON.stringify({ channel: 'C0DEV', text: 'as JSON', blocks: [{ type: 'divider' }] })
    const json = { ...headers, 'content-type': 'application/json; charset=utf-8' }
    const asJson = await fetch(`${slack.apiUrl}chat.postMessage`, { method: 'POST', headers: json, body })
    expect(await asJson.json()).toMatchObject({ ok: true, channel: 'C0DEV' })
    const form = new FormData()
    form.set('channel', 'C0DEV')
    form.set('text', 'as a multipart form')
    const asForm = await fetch(`${slack.apiUrl}chat.postMessage`, { method: 'POST', headers, body: form })
    expect(await asForm.json()).toMatchObject({ ok: true, message: { text: 'as a multipart form', bot_id: 'B0BOT' } })
  })

  test('checks tokens, methods, scopes and arguments', async () => {
    expect(await call('auth.test', {}, null)).toMatchObject({ ok: false, error: 'not_authed' })
    expect(await call('auth.test', {}, 'xoxb-other')).toMatchObject({ error: 'invalid_auth' })
    expect(await call('auth.test', {}, slack.appToken)).toMatchObject({ error: 'not_allowed_token_type' })
    expect(await call('apps.connections.open', {})).toMatchObject({ error: 'not_allowed_token_type' })
    expect(await call('chat.scream', {})).toMatchObject({ error: 'unknown_method' })
    expect(await call('toString', {})).toMatchObject({ error: 'unknown_method' })
    expect(await post({ text: 'x', thread: '1' })).toMatchObject({ error: 'invalid_arguments' })
    slack.setScopes([])
    expect(await post({ text: 'x' })).toMatchObject({ error: 'missing_scope', needed: 'chat:write' })
  })

  test('keeps to membership and to threads that exist', async () => {
    expect(await post({ channel: 'C0OPS', text: 'x' })).toMatchObject({ error: 'not_in_channel' })
    expect(await post({ channel: 'C0SECRET', text: 'x' })).toMatchObject({ error: 'channel_not_found' })
    expect(await post({ text: 'x', thread_ts: '1.000001' })).toMatchObject({ error: 'thread_not_found' })
    const root = slack.say('U0ANNA', 'C0DEV', 'root')
    const reply = slack.say('U0ANNA', 'C0DEV', 'reply', { threadTs: root })
    expect(await post({ text: 'x', thread_ts: reply })).toMatchObject({ error: 'thread_not_found' })
    expect(await post({ text: 'x', thread_ts: root })).toMatchObject({ ok: true, message: { thread_ts: root } })
    expect(await call('chat.update', { channel: 'C0DEV', ts: root, text: 'mine now' })).toMatchObject({
      error: 'cant_update_message',
    })
    slack.world.channels.get('C0DEV')!.archived = true
    expect(await post({ text: 'x' })).toMatchObject({ error: 'is_archived' })
  })

  test('refuses what Slack documents as too much', async () => {
    const button = (extra: Fields) => ({
      type: 'actions',
      elements: [{ type: 'button', action_id: 'a', text: { type: 'plain_text', text: 'A' }, ...extra }],
    })
    const refused: [Fields, string][] = [
      [{ text: '' }, 'no_text'],
      [{ markdown_text: 'x', text: 'x' }, 'markdown_text_conflict'],
      [{ markdown_text: 'x'.repeat(12_001) }, 'msg_too_long'],
      [{ blocks: Array(51).fill({ type: 'divider' }) }, 'invalid_blocks'],
      [{ blocks: [{ type: 'markdown', text: 'x'.repeat(12_001) }] }, 'invalid_blocks'],
      [{ blocks: [{ type: 'section', text: { type: 'mrkdwn', text: 'x'.repeat(3_001) } }] }, 'invalid_blocks'],
      [{ blocks: [{ type: 'sektion' }] }, 'invalid_blocks'],
      [{ blocks: [{ type: 'divider', colour: 'red' }] }, 'invalid_blocks'],
      [{ blocks: [button({ value: 'x'.repeat(2_001) })] }, 'invalid_blocks'],
      [{ blocks: [button({ style: 'plain' })] }, 'invalid_blocks'],
      [{ blocks: 'no json' }, 'invalid_blocks_format'],
      [{ text: 'x', metadata: { event_type: 'e', event_payload: { deep: { er: 1 } } } }, 'invalid_metadata_format'],
    ]
    for (const [args, error] of refused)
      expect(await post(args), JSON.stringify(args).slice(0, 80)).toMatchObject({ error })
    const { ts } = (await post({ text: 'x', blocks: [{ type: 'divider' }] })) as { ts: string }
    const update = { channel: 'C0DEV', ts }
    expect(await call('chat.update', { ...update, text: 'x'.repeat(4_001) })).toMatchObject({ error: 'msg_too_long' })
    // Text without blocks takes the old blocks away.
    await call('chat.update', { ...update, text: 'only text' })
    expect(slack.thread('C0DEV', ts)[0]).not.toHaveProperty('blocks')
  })

  describe('cards of tasks and plans', () => {
    const task = (extra: Fields = {}) => ({
      type: 'task_card',
      task_id: 't',
      title: 'Read',
      status: 'complete',
      ...extra,
    })
    const rich = (text: string) => ({
      type: 'rich_text',
      elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text }] }],
    })

    test('stand in messages, with the words of all their parts', async () => {
      const output = rich('<!channel> & so on')
      const blocks = [
        { type: 'plan', title: 'Two', tasks: [task({ output }), task({ task_id: 'u', status: 'pending' })] },
      ]
      const { ts } = (await post({ text: 'x', blocks })) as { ts: string }
      expect(slack.threadText('C0DEV', ts)).toBe('toycoder: Two\n✓ Read\n<!channel> & so on\n○ Read')
      expect(slack.renderThreadHtml('C0DEV', ts)).toContain('<pre>&lt;!channel&gt; &amp; so on</pre>')
      expect(slack.world.notified).toEqual([])
    })

    test('are refused where they are not as Slack documents them', async () => {
      const plan = (tasks: Fields[], extra: Fields = {}) => ({ type: 'plan', title: 'All', tasks, ...extra })
      const refused: Fields[][] = [
        [task({ task_id: '' })],
        [task({ title: '' })],
        [task({ title: { type: 'plain_text', text: 'Read' } })],
        [task({ title: 'x'.repeat(257) })],
        [task({ status: 'completed' })],
        [task({ status: 'pending' })],
        [task({ output: 'words' })],
        [task({ details: rich('') })],
        [task({ sources: [{ type: 'text', text: 'x' }] })],
        [task({ colour: 'red' })],
        [plan([])],
        [plan([task(), task()])],
        [plan([task({ type: 'section' })])],
        [plan(Array.from({ length: 51 }, (_, n) => task({ task_id: `t${n}` })))],
        [plan([task()], { title: '' })],
        [task(), plan([task()])],
      ]
      for (const blocks of refused)
        expect(await post({ blocks }), JSON.stringify(blocks).slice(0, 90)).toMatchObject({ error: 'invalid_blocks' })
      expect(await post({ blocks: [task({ title: '<!here>' })] })).toMatchObject({ ok: true })
      expect(slack.world.notified).toMatchObject([{ who: 'everyone' }])
    })

    test('are refused where this workspace does not take them', async () => {
      slack.world.refusedBlocks.add('task_card')
      expect(await post({ blocks: [task()] })).toMatchObject({
        error: 'invalid_blocks',
        errors: ['unsupported type: task_card [json-pointer:/blocks/0]'],
      })
    })
  })

  test('pages a thread from its root on, within bounds', async () => {
    const root = slack.say('U0ANNA', 'C0DEV', 'root')
    const replies = Array.from({ length: 5 }, (_, n) => slack.say('U0BEN', 'C0DEV', `r${n}`, { threadTs: root }))
    const page = async (args: Fields) =>
      (await call('conversations.replies', { channel: 'C0DEV', ts: root, ...args })) as {
        messages: { text: string }[]
        has_more: boolean
        response_metadata: { next_cursor: string }
      }
    const first = await page({ limit: 2 })
    expect(first.messages.map(({ text }) => text)).toEqual(['root', 'r0', 'r1'])
    expect(first.has_more).toBe(true)
    const second = await page({ limit: 9, cursor: first.response_metadata.next_cursor })
    expect(second.messages.map(({ text }) => text)).toEqual(['r2', 'r3', 'r4'])
    expect(second.has_more).toBe(false)
    const bounded = await page({ latest: replies[2]!, oldest: replies[0]! })
    expect(bounded.messages.map(({ text }) => text)).toEqual(['root', 'r1'])
    expect(await page({ cursor: 'bm9uZQ==' })).toMatchObject({ ok: false, error: 'invalid_cursor' })
  })

  test('limits posts by channel and methods by tier once it is told to', async () => {
    slack.rateLimits(true)
    const answers = []
    for (let n = 0; n < 5; n++) {
      const headers = { authorization: `Bearer ${slack.botToken}` }
      const body = new URLSearchParams({ channel: 'C0DEV', text: 'x' })
      answers.push(await fetch(`${slack.apiUrl}chat.postMessage`, { method: 'POST', headers, body }))
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429])
    expect(Number(answers[4]!.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('keeps bursts to 40 % of a minute once it is told to, by method for all channels', async () => {
    slack.rateLimits('bursts')
    slack.world.addChannel({ id: 'C0TWO', members: ['U0BOT'] })
    const roots = { C0DEV: slack.say('U0ANNA', 'C0DEV', 'a'), C0TWO: slack.say('U0ANNA', 'C0TWO', 'b') }
    const made = { C0DEV: (await post({ thread_ts: roots.C0DEV, text: 'x' })).ts, C0TWO: '' }
    made.C0TWO = String((await call('chat.postMessage', { channel: 'C0TWO', text: 'x' })).ts)
    const outcomes: unknown[] = []
    for (let n = 0; n < 21; n++) {
      const channel = n % 2 ? 'C0TWO' : 'C0DEV'
      outcomes.push((await call('chat.update', { channel, ts: made[channel], text: `frame ${n}` })).error)
    }
    expect(outcomes).toEqual([...Array(20).fill(undefined), 'ratelimited'])
    const posts: unknown[] = []
    for (let n = 0; n < 4; n++) posts.push((await call('chat.postMessage', { channel: 'C0DEV', text: 'x' })).error)
    expect(posts).toEqual([undefined, undefined, undefined, 'ratelimited'])
  })

  test('streams: chunks grow a message, which nothing else may edit meanwhile, and which stopping ends', async () => {
    const root = slack.mention('U0ANNA', 'C0DEV', 'go')
    const thread = { channel: 'C0DEV', thread_ts: root }
    expect(await call('chat.startStream', thread)).toMatchObject({ error: 'missing_recipient_user_id' })
    const recipient = { recipient_user_id: 'U0ANNA', recipient_team_id: 'T0DOUBLE' }
    const shown: string[] = []
    slack.world.onShown = (_, message) => shown.push(message.text)
    const { ts } = await call('chat.startStream', { ...thread, ...recipient, markdown_text: 'One ' })
    const stream = { channel: 'C0DEV', ts }
    await call('chat.appendStream', { ...stream, markdown_text: 'two ' })
    expect(await call('chat.update', { ...stream, text: 'x' })).toMatchObject({ error: 'streaming_state_conflict' })
    const both = { ...stream, markdown_text: 'x', chunks: [] }
    expect(await call('chat.appendStream', both)).toMatchObject({
      error: 'cannot_provide_both_markdown_text_and_chunks',
    })
    expect(await call('chat.appendStream', { ...stream, markdown_text: 'x'.repeat(11_000) })).toMatchObject({
      error: 'msg_too_long',
    })
    await call('chat.stopStream', { ...stream, markdown_text: 'three' })
    expect(shown).toEqual(['One ', 'One two ', 'One two three'])
    expect(await call('chat.appendStream', { ...stream, markdown_text: 'x' })).toMatchObject({
      error: 'message_not_in_streaming_state',
    })
    expect(slack.threadText('C0DEV', root)).toContain('toycoder: One two three')
  })

  test('gives every message its own ts, in order', () => {
    const stamps = Array.from({ length: 500 }, () => slack.say('U0ANNA', 'C0DEV', 'x'))
    expect(new Set(stamps).size).toBe(500)
    expect([...stamps].sort()).toEqual(stamps)
    expect(stamps.every((ts) => /^\d{10}\.\d{6}$/.test(ts))).toBe(true)
  })

  test('shows a thread as text and as a page', async () => {
    const root = slack.mention('U0ANNA', 'C0DEV', 'is 1 < 2 & why?')
    await post({
      thread_ts: root,
      text: 'Yes',
      blocks: [
        { type: 'markdown', text: '**Yes**, <https://e.example|see>' },
        { type: 'actions', elements: [{ type: 'button', action_id: 'a', text: { type: 'plain_text', text: 'Stop' } }] },
      ],
    })
    expect(slack.threadText('C0DEV', root)).toBe(
      'Anna: @toycoder is 1 < 2 & why?\ntoycoder: **Yes**, see (https://e.example)\n[Stop]',
    )
    const page = slack.renderThreadHtml('C0DEV', root)
    expect(page).toContain('is 1 &lt; 2 &amp; why?')
    expect(page).toContain('<b>Yes</b>')
    expect(page).toContain('<button class="plain">Stop</button>')
    const code = '```ts\nif (a) {\n  | b\n}\n```\n| x | y |\n| - | - |\n| 1 | 2 |'
    await post({ thread_ts: root, text: 'code', blocks: [{ type: 'markdown', text: code }] })
    expect(slack.renderThreadHtml('C0DEV', root)).toContain(
      '<pre>if (a) {\n  | b\n}</pre><table><tr><th>x</th><th>y</th></tr><tr><td>1</td><td>2</td></tr></table>',
    )
  })
})
