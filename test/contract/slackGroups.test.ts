import { afterEach, expect, test } from 'vitest'
import { ALL_SCOPES } from '../doubles/slack/slackDouble.ts'
import { recordingLog, type SlackHarness, startSlack } from './slackHarness.ts'

let slack: SlackHarness
let now = 0
const log = recordingLog()
afterEach(() => slack.close())

async function begin(): Promise<void> {
  now = Date.now()
  log.lines.length = 0
  slack = await startSlack('socket', { now: () => now, log })
}
const rolesOf = async (id: string) => (await slack.platform.person('T0DOUBLE', id)).roles
const asked = () => slack.double.calls('usergroups.list').length
const told = () => log.lines.filter(({ message }) => message.includes('user group'))

test('people have the ids of their user groups as roles, asked for once in five minutes for all together', async () => {
  await begin()
  expect(await Promise.all(['U0ANNA', 'U0BEN', 'U0OTHER', 'B0CI'].map(rolesOf))).toEqual([
    ['S0OPS', 'S0ALL'],
    ['S0ALL'],
    [],
    [],
  ])
  slack.double.world.userGroups.get('S0OPS')!.add('U0BEN')
  now += 5 * 60_000 - 1
  expect(await rolesOf('U0BEN')).toEqual(['S0ALL'])
  expect(asked()).toBe(1)
  now += 1
  expect(await rolesOf('U0BEN')).toEqual(['S0OPS', 'S0ALL'])
  expect(asked()).toBe(2)
})

test('without the scope nobody has roles, and the log says once how to mend it', async () => {
  await begin()
  slack.double.setScopes(ALL_SCOPES.filter((scope) => scope !== 'usergroups:read'))
  expect(await rolesOf('U0ANNA')).toEqual([])
  now += 5 * 60_000
  expect(await rolesOf('U0ANNA')).toEqual([])
  expect(told()).toMatchObject([
    { level: 'warn', fields: { code: 'missing_scope', mend: expect.stringContaining('usergroups:read') } },
  ])
  slack.double.setScopes(ALL_SCOPES)
  now += 5 * 60_000
  expect(await rolesOf('U0ANNA')).toEqual(['S0OPS', 'S0ALL'])
})

test('a workspace whose plan has no user groups is like one without the scope', async () => {
  await begin()
  slack.double.fail('usergroups.list', { kind: 'error', code: 'plan_upgrade_required' })
  expect(await rolesOf('U0ANNA')).toEqual([])
  expect(asked()).toBe(1)
})

test('while Slack is down for a moment, groups are those known before, and it is soon asked again', async () => {
  await begin()
  expect(await rolesOf('U0BEN')).toEqual(['S0ALL'])
  now += 5 * 60_000
  slack.double.fail('usergroups.list', { kind: 'error', code: 'internal_error' })
  slack.double.world.userGroups.get('S0OPS')!.add('U0BEN')
  expect(await rolesOf('U0BEN')).toEqual(['S0ALL'])
  now += 30_000
  expect(await rolesOf('U0BEN')).toEqual(['S0OPS', 'S0ALL'])
})
