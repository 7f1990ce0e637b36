import { describe, expect, it } from 'vitest'
import type { AccessRules } from '../../src/conversation/access.ts'
import { type Deciders, mayDecide, mayDeny } from '../../src/conversation/entitled.ts'
import type { Person } from '../../src/shared/thread.ts'

const access: AccessRules = { channels: [], people: [], roles: [], guests: false, external: false, admins: [] }
const person = (id: string, more: Partial<Person> = {}): Person => ({
  ...{ id, name: id, isBot: false, isGuest: false, isExternal: false, isAdmin: false, roles: [] },
  ...more,
})
/** Ann wrote first, Bo last: he is the requester. */
const requesters = [{ id: 'ann' }, { id: 'bo' }]

describe('who may decide', () => {
  it.each<[Deciders, string, boolean]>([
    ['anyone', 'ann', true],
    ['anyone', 'cleo', true],
    ['requester', 'bo', true],
    ['requester', 'ann', false],
    ['not_requester', 'cleo', true],
    ['not_requester', 'ann', false],
    ['not_requester', 'bo', false],
    [['cleo'], 'cleo', true],
    [['cleo'], 'ann', false],
    [['ops'], 'ann', false],
  ])('by the rule %j, %s: %s', (who, id, expected) => {
    expect(mayDecide(who, requesters, person(id), access)).toBe(expected)
  })

  it('roles and groups count like people', () => {
    expect(mayDecide(['ops'], requesters, person('ann', { roles: ['ops'] }), access)).toBe(true)
  })

  it('nobody may who may not use the bot, whatever the rule says', () => {
    for (const who of ['anyone', ['ann']] as const) {
      expect(mayDecide(who, requesters, person('ann', { isBot: true }), access)).toBe(false)
      expect(mayDecide(who, requesters, person('ann', { isGuest: true }), access)).toBe(false)
      expect(mayDecide(who, requesters, person('ann', { isExternal: true }), access)).toBe(false)
      expect(mayDecide(who, requesters, person('ann'), { ...access, people: ['cleo'] })).toBe(false)
    }
  })

  it('whoever asked may also say no, and nobody else may who may not say yes', () => {
    expect(mayDeny('not_requester', requesters, person('ann'), access)).toBe(true)
    expect(mayDeny(['cleo'], requesters, person('bo'), access)).toBe(true)
    expect(mayDeny(['cleo'], requesters, person('dora'), access)).toBe(false)
    expect(mayDeny('anyone', requesters, person('ann', { isGuest: true }), access)).toBe(false)
  })

  it('where nobody asked, "requester" is nobody', () => {
    expect(mayDecide('requester', [], person('ann'), access)).toBe(false)
  })
})
