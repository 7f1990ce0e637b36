import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createDoor, isLoopback, needsToken, type RequestHead } from '../../src/web/door.ts'

const local = createDoor({ host: '127.0.0.1', port: 3000, publicUrl: null, token: false })
const open = createDoor({ host: '0.0.0.0', port: 3000, publicUrl: null, token: true })
const proxied = createDoor({
  host: '127.0.0.1',
  port: 3000,
  publicUrl: new URL('https://coder.example.org'),
  token: true,
})

function head(method: string, headers: Record<string, string | string[]>, target = '/console'): RequestHead {
  const rawHeaders = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().flatMap((value) => [name, value]),
  )
  return { method, target, rawHeaders }
}
const get = (headers: Record<string, string | string[]>, target?: string) => head('GET', headers, target)
const post = (headers: Record<string, string | string[]>) => head('POST', headers, '/console/api/submit')

describe('on this machine alone', () => {
  test.each(['localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'LOCALHOST:3000'])('%s is our name', (host) => {
    expect(local(get({ Host: host }))).toBeNull()
    expect(local(post({ Host: host, Origin: `http://${host.toLowerCase()}` }))).toBeNull()
  })

  test.each([
    'evil.example:3000',
    'localhost.evil.example:3000',
    'localhost:3001',
    'localhost',
    '127.0.0.1',
    'localhost.:3000',
    '127.0.0.1.nip.io:3000',
    '192.168.1.5:3000',
    'user@localhost:3000',
    'localhost:3000/evil',
    'localhost:3000, evil.example',
    'localhost:03000000',
    '[::1%25eth0]:3000',
    '::1:3000',
    '',
  ])('a request for %j is refused, whatever it resolves to', (host) => {
    expect(local(get({ Host: host }))).toMatchObject({ status: 403 })
  })

  test('no name that anybody makes up is taken', () => {
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.webAuthority(), fc.string()), (name) => {
        fc.pre(!['localhost', '127.0.0.1', 'localhost:3000', '127.0.0.1:3000'].includes(name.toLowerCase()))
        expect(local(get({ Host: `${name}:3000` }))).not.toBeNull()
        expect(local(get({ Host: name }))).not.toBeNull()
      }),
    )
  })

  test('a request with two Host headers or none is refused', () => {
    expect(local(get({}))).toMatchObject({ status: 400 })
    expect(local(get({ Host: ['localhost:3000', 'evil.example'] }))).toMatchObject({ status: 400 })
  })

  test.each(['http://evil.example/console', '//evil.example/console', '*', 'evil.example:443'])(
    'the request target %s is refused',
    (target) => {
      expect(local(get({ Host: 'localhost:3000' }, target))).toMatchObject({ status: 400 })
    },
  )

  test.each([
    'http://evil.example',
    'http://localhost:4000',
    'https://localhost:3000',
    'http://127.0.0.1:3000',
    'http://localhost',
    'null',
    '',
    'http://localhost:3000.evil.example',
  ])('the origin %j may neither read nor write', (origin) => {
    expect(local(get({ Host: 'localhost:3000', Origin: origin }))).toMatchObject({ status: 403 })
    expect(local(post({ Host: 'localhost:3000', Origin: origin }))).toMatchObject({ status: 403 })
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'post', 'FOO'])('%s needs an origin', (method) => {
    expect(local(head(method, { Host: 'localhost:3000' }))).toMatchObject({ status: 403 })
  })

  test('two origins are refused', () => {
    expect(
      local(post({ Host: 'localhost:3000', Origin: ['http://localhost:3000', 'http://evil.example'] })),
    ).not.toBeNull()
  })

  test.each([
    'Forwarded',
    'X-Forwarded-For',
    'x-forwarded-host',
    'X-FORWARDED-PROTO',
    'X-Forwarded',
    'X-Real-IP',
    'X-Client-IP',
    'True-Client-IP',
    'CF-Connecting-IP',
    'Via',
    'X-Original-Host',
  ])('%s tells of a proxy and ends the mode without a token, with the mend', (name) => {
    const refusal = local(get({ Host: 'localhost:3000', [name]: '127.0.0.1' }))
    expect(refusal).toMatchObject({ status: 403 })
    expect(refusal!.text).toContain('console.public_url')
    expect(proxied(get({ Host: 'coder.example.org', [name]: '127.0.0.1' }))).toBeNull()
  })

  test.each(['cross-site', 'same-site'])('a %s page can embed nothing of ours, but a link to us works', (site) => {
    const from = { Host: 'localhost:3000', 'Sec-Fetch-Site': site }
    expect(local(get({ ...from, 'Sec-Fetch-Mode': 'no-cors' }))).toMatchObject({ status: 403 })
    expect(local(get({ ...from, 'Sec-Fetch-Mode': 'cors' }))).toMatchObject({ status: 403 })
    expect(local(get({ ...from, 'Sec-Fetch-Mode': 'navigate' }))).toBeNull()
    const sent = { ...from, 'Sec-Fetch-Mode': 'navigate', Origin: 'http://localhost:3000' }
    expect(local(post(sent))).toMatchObject({ status: 403 })
  })

  test('what a stranger sent is said back without control characters', () => {
    const refusal = local(get({ Host: `\x1b[31m${'x'.repeat(5000)}` }))
    expect(refusal!.text).not.toContain('\x1b')
    expect(refusal!.text.length).toBeLessThan(400)
  })
})

describe('beyond this machine, with a token', () => {
  test('any address of the machine is taken, but no name that may have been rebound', () => {
    expect(open(get({ Host: '192.168.1.5:3000' }))).toBeNull()
    expect(open(get({ Host: '[fd00::5]:3000' }))).toBeNull()
    expect(open(get({ Host: 'evil.example:3000' }))).toMatchObject({ status: 403 })
    expect(open(post({ Host: '192.168.1.5:3000', Origin: 'http://192.168.1.5:3000' }))).toBeNull()
    expect(open(post({ Host: '192.168.1.5:3000', Origin: 'http://192.168.1.6:3000' }))).toMatchObject({ status: 403 })
  })

  test('behind a proxy the public address is the name and the origin', () => {
    expect(proxied(get({ Host: 'coder.example.org' }))).toBeNull()
    expect(proxied(post({ Host: 'coder.example.org', Origin: 'https://coder.example.org' }))).toBeNull()
    expect(proxied(post({ Host: '127.0.0.1:3000', Origin: 'https://coder.example.org' }))).toBeNull()
    expect(proxied(post({ Host: 'coder.example.org', Origin: 'https://evil.example.org' }))).toMatchObject({
      status: 403,
    })
    expect(proxied(get({ Host: 'evil.example.org' }))).toMatchObject({ status: 403 })
  })
})

test('a token is needed as soon as the console can be reached from elsewhere', () => {
  expect(['127.0.0.1', 'localhost', '::1', '[::1]', '127.1.2.3'].map((host) => needsToken(host))).not.toContain(true)
  expect(['0.0.0.0', '::', '192.168.1.5', 'box.example', ''].map((host) => needsToken(host))).not.toContain(false)
  expect(needsToken('127.0.0.1', 'https://coder.example.org')).toBe(true)
  expect(isLoopback('127.evil.example')).toBe(false)
})
