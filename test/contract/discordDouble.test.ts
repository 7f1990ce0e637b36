import { describe, expect, test } from 'vitest'
import { double as startDouble } from './discordHarness.ts'

const RINGS_NOBODY = { allowed_mentions: { parse: [] } }

/** What the double must refuse as Discord does, asked by bare HTTP. */
async function api(options: Parameters<typeof startDouble>[0] = {}) {
  const double = await startDouble(options)
  const headers = {
    authorization: `Bot ${double.token}`,
    'user-agent': 'DiscordBot (https://example.com, 1.0)',
    'content-type': 'application/json',
  }
  const call = async (method: string, path: string, body?: object, extra: Record<string, string> = {}) => {
    const response = await fetch(`${double.apiUrl}/v10${path}`, {
      method,
      headers: { ...headers, ...extra },
      ...(body ? { body: JSON.stringify({ ...('content' in body ? RINGS_NOBODY : {}), ...body }) } : {}),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined }
  }
  const post = (content: string, more: object = {}) =>
    call('POST', `/channels/${double.channelId}/messages`, { content, ...more })
  return { double, call, post }
}

describe('the Discord double refuses what Discord refuses', () => {
  test('a wrong token, and a client that does not name itself', async () => {
    const { call } = await api()
    expect(await call('GET', '/gateway/bot', undefined, { authorization: 'Bot no' })).toMatchObject({ status: 401 })
    const nameless = await call('GET', '/gateway/bot', undefined, { 'user-agent': 'curl' })
    expect(nameless).toMatchObject({ status: 403, body: { code: 40333 } })
  })

  test('empty, too long and unknown messages', async () => {
    const { double, call, post } = await api()
    expect((await post(' ')).body.code).toBe(50006)
    expect((await post('😀'.repeat(2_000))).status).toBe(200)
    const long = await post('😀'.repeat(2_001))
    expect(long.body).toMatchObject({
      code: 50035,
      errors: { content: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } },
    })
    expect((await post('x', { nonce: 'n'.repeat(26) })).body.code).toBe(50035)
    const gone = `/channels/${double.channelId}/messages/123456789012345678`
    expect((await call('PATCH', gone, { content: 'x' })).body.code).toBe(10008)
    expect((await call('GET', '/channels/123456789012345678')).body.code).toBe(10003)
  })

  test('more than Discord does: any text that does not say that it rings nobody but those it names', async () => {
    const { double, call, post } = await api()
    const unsaid = [{ allowed_mentions: null }, { allowed_mentions: {} }, { allowed_mentions: { parse: ['everyone'] } }]
    const { id } = (await post('quiet')).body
    const path = `/channels/${double.channelId}/messages`
    const interaction = double.slash(double.aliceId, double.channelId, 'plan', { task: 'x' })
    const callback = `/interactions/${interaction.id}/${interaction.token}/callback`
    const webhook = `/webhooks/${double.botId}/${interaction.token}`
    for (const more of unsaid) {
      const text = { content: '@everyone', ...more }
      expect((await call('POST', path, text)).body.errors).toHaveProperty('allowed_mentions')
      expect((await call('PATCH', `${path}/${id}`, text)).body.errors).toHaveProperty('allowed_mentions')
      expect((await call('POST', callback, { type: 4, data: text })).body.errors).toHaveProperty('allowed_mentions')
      expect((await call('POST', webhook, text)).body.errors).toHaveProperty('allowed_mentions')
      expect((await call('PATCH', `${webhook}/messages/@original`, text)).body.errors).toHaveProperty(
        'allowed_mentions',
      )
      const forumPost = { name: 'news', message: text }
      expect((await call('POST', `/channels/${double.forumId}/threads`, forumPost)).body.errors).toHaveProperty(
        'allowed_mentions',
      )
    }
    expect(double.text(double.channelId)).toBe('toycoder: quiet')
  })

  test('a second thread on a message, and names that are none', async () => {
    const { double, call, post } = await api()
    const { id } = (await post('hello')).body
    const threads = `/channels/${double.channelId}/messages/${id}/threads`
    expect((await call('POST', threads, { name: ' ' })).body.code).toBe(50035)
    expect((await call('POST', threads, { name: 'n'.repeat(101) })).body.code).toBe(50035)
    expect((await call('POST', threads, { name: 'fine' })).body.id).toBe(id)
    expect((await call('POST', threads, { name: 'fine' })).body.code).toBe(160004)
    const shown = (await call('GET', `/channels/${double.channelId}/messages/${id}`)).body
    expect(shown.flags & 32).toBe(32)
    expect((await call('GET', `/channels/${id}/messages`)).body).toMatchObject([
      { type: 21, content: '', referenced_message: { id, content: 'hello' } },
    ])
    double.archive(id)
    expect(
      (await call('PATCH', `/channels/${id}/messages/${double.messages(id)[0]!.id}`, { content: 'x' })).body.code,
    ).toBe(50083)
  })

  test('late, doubled and outdated answers to an interaction', async () => {
    const { double, call } = await api()
    const callback = ({ id, token }: { id: string; token: string }) =>
      call('POST', `/interactions/${id}/${token}/callback?with_response=true`, { type: 5 })
    const late = double.slash(double.aliceId, double.channelId, 'plan')
    double.advance(3_001)
    expect((await callback(late)).body.code).toBe(10062)
    const interaction = double.slash(double.aliceId, double.channelId, 'plan')
    const { body } = await callback(interaction)
    expect(body.resource.message).toMatchObject({ flags: 128, interaction_metadata: { id: interaction.id } })
    expect((await callback(interaction)).body.code).toBe(40060)
    const webhook = `/webhooks/${double.botId}/${interaction.token}`
    const first = await call('POST', webhook, { content: 'for alice only', flags: 64 })
    expect(first.body).toMatchObject({ id: body.resource.message.id, flags: 0 })
    expect((await call('POST', webhook, { content: 'really', flags: 64 })).body).toMatchObject({ flags: 64 })
    expect(interaction.ephemeral.map(({ content }) => content)).toEqual(['really'])
    double.advance(15 * 60_000)
    expect(await call('POST', webhook, { content: 'x' })).toMatchObject({ status: 401, body: { code: 50027 } })
  })

  test('modals that do not fit, and those that answer a modal or come second', async () => {
    const { double, call, post } = await api()
    const button = { type: 2, style: 1, label: 'Go', custom_id: 'go' }
    const { id } = (await post('x', { components: [{ type: 1, components: [button] }] })).body
    const open = (interaction: { id: string; token: string }, data: object) =>
      call('POST', `/interactions/${interaction.id}/${interaction.token}/callback`, { type: 9, data })
    const input = { type: 4, custom_id: 'a', style: 2 }
    const label = (component: object, more: object = {}) => ({ type: 18, label: 'L', ...more, component })
    const modal = { custom_id: 'm', title: 'T', components: [label(input)] }
    const click = double.click(double.aliceId, double.channelId, id, 'Go')
    for (const wrong of [
      { title: 't'.repeat(46) },
      { custom_id: 'm'.repeat(101) },
      { components: [] },
      { components: Array.from({ length: 6 }, (_, n) => label({ ...input, custom_id: `${n}` })) },
      { components: [label(input), label(input)] },
      { components: [label(input, { label: 'L'.repeat(46) })] },
      { components: [label({ ...input, value: '' })] },
      { components: [label({ ...input, value: 'v'.repeat(4_001) })] },
      { components: [{ type: 1, components: [input] }] },
    ]) {
      expect((await open(click, { ...modal, ...wrong })).body.code).toBe(50035)
    }
    expect((await open(click, modal)).status).toBe(204)
    expect((await open(click, modal)).body.code).toBe(40060)
    expect(() => double.sendOff(click)).toThrow('"a" must not be empty')
    expect(() => double.sendOff(click, { a: 'x'.repeat(4_001) })).toThrow('4000')
    const sent = double.sendOff(click, { a: 'x' })
    expect(() => double.sendOff(click, { a: 'x' })).toThrow('no modal is open')
    expect((await open(sent, modal)).body.code).toBe(50035)
    const late = double.click(double.aliceId, double.channelId, id, 'Go')
    double.advance(3_001)
    expect((await open(late, modal)).body.code).toBe(10062)
  })

  test('the same nonce twice within minutes, and after a deletion', async () => {
    const { double, post } = await api()
    const more = { nonce: 'n', enforce_nonce: true }
    const first = (await post('a', more)).body
    expect((await post('b', more)).body).toMatchObject({ id: first.id, content: 'a' })
    double.advance(4 * 60_000)
    const second = (await post('b', more)).body
    expect(second.id).not.toBe(first.id)
    double.remove(double.channelId, second.id)
    expect((await post('c', more)).body.code).toBe(10008)
  })

  test('more than five messages in five seconds; edits share the bucket but not the count', async () => {
    const { double, call, post } = await api({ rateLimits: true })
    const first = await post('0')
    for (let n = 1; n < 5; n++) await post(`${n}`)
    const refused = await post('5')
    expect(refused).toMatchObject({ status: 429, body: { global: false, retry_after: expect.any(Number) } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const edit = await call('PATCH', `/channels/${double.channelId}/messages/${first.body.id}`, { content: 'x' })
    expect(edit.status).toBe(200)
    expect(edit.headers.get('x-ratelimit-remaining')).toBe('4')
    expect(edit.headers.get('x-ratelimit-bucket')).toBe(first.headers.get('x-ratelimit-bucket'))
    double.advance(5_001)
    expect((await post('5')).status).toBe(200)
  })

  test('more than three edits of old messages in six seconds, and more than two names in ten minutes', async () => {
    const { double, call, post } = await api({ rateLimits: true })
    const { id } = (await post('0')).body
    const edit = () => call('PATCH', `/channels/${double.channelId}/messages/${id}`, { content: 'x' })
    expect((await edit()).headers.get('x-ratelimit-limit')).toBe('5')
    double.advance(3_600_001)
    for (let n = 0; n < 3; n++) expect((await edit()).status).toBe(200)
    expect(await edit()).toMatchObject({ status: 429, body: { code: 30046, global: false } })
    const thread = (await call('POST', `/channels/${double.channelId}/messages/${id}/threads`, { name: 'a' })).body
    const rename = (name: string) => call('PATCH', `/channels/${thread.id}`, { name })
    expect([(await rename('b')).status, (await rename('c')).status, (await rename('d')).status]).toEqual([
      200, 200, 429,
    ])
    expect((await call('PATCH', `/channels/${thread.id}`, { archived: true })).status).toBe(200)
  })

  test('what the bot has no right to', async () => {
    const { double, call, post } = await api()
    const { id } = (await post('x')).body
    double.deny(double.channelId, 'CREATE_PUBLIC_THREADS', 'SEND_MESSAGES')
    expect((await post('y')).body.code).toBe(50013)
    const threads = `/channels/${double.channelId}/messages/${id}/threads`
    expect((await call('POST', threads, { name: 'x' })).body.code).toBe(50001)
    double.deny(double.channelId, 'VIEW_CHANNEL')
    expect((await call('GET', `/channels/${double.channelId}`)).body.code).toBe(50001)
  })
})
