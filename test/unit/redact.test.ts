// biome-ignore-all lint/suspicious/noTemplateCurlyInString: an example of a text that is no secret
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, LEAST_SECRET_LENGTH } from '../../src/shared/redact.ts'
import { TOKEN_SHAPES } from '../../src/shared/tokenShapes.ts'

const shapesOnly = createRedactor()
const letters = (count: number) => 'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0z'.repeat(Math.ceil(count / 31)).slice(0, count)
const hex = (count: number) => '0123456789abcdef'.repeat(Math.ceil(count / 16)).slice(0, count)
const key = `-----BEGIN RSA PRIVATE KEY-----\n${`${letters(64)}\n`.repeat(4)}${letters(20)}==\n-----END RSA PRIVATE KEY-----`

/** Made-up tokens of every shape, put together here so that no scanner takes this file for a leak. */
const SAMPLES: Record<string, string[]> = {
  'github-token': [`ghp_${letters(36)}`, `ghs_${letters(36)}`, `github_pat_${letters(22)}_${letters(59)}`],
  'gitlab-token': [`glpat-${letters(20)}`],
  'slack-token': [
    `xoxb-1234567890-1234567890-${letters(24)}`,
    `xoxe.xoxp-1-${letters(40)}`,
    `xapp-1-A012-345-${hex(64)}`,
  ],
  'slack-webhook': [`T0123456/B0123456/${letters(24)}`],
  'discord-token': [`MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.${letters(38)}`],
  'discord-webhook': [letters(68)],
  'anthropic-key': [`sk-ant-api03-${letters(80)}`],
  'openrouter-key': [`sk-or-v1-${hex(64)}`],
  'openai-key': [`sk-proj-${letters(60)}`, `sk-${letters(48)}`],
  'groq-key': [`gsk_${letters(52)}`],
  'xai-key': [`xai-${letters(80)}`],
  'huggingface-token': [`hf_${letters(34)}`],
  'google-key': [`AIza${letters(35)}`],
  'google-token': [`ya29.${letters(60)}`, `GOCSPX-${letters(28)}`],
  'aws-key-id': ['AKIAIOSFODNN7EXAMPLE', 'ASIAIOSFODNN7EXAMPLE'],
  'aws-secret-key': [letters(40)],
  'npm-token': [`npm_${letters(36)}`],
  'pypi-token': [`pypi-${letters(90)}`],
  'docker-token': [`dckr_pat_${letters(27)}`],
  'stripe-key': [`sk_live_${letters(24)}`, `rk_test_${letters(24)}`],
  'webhook-secret': [`whsec_${letters(32)}`],
  'sendgrid-key': [`SG.${letters(22)}.${letters(43)}`],
  'digitalocean-token': [`dop_v1_${hex(64)}`],
  'telegram-token': [`123456789:AA${letters(33)}`],
  'age-key': [`AGE-SECRET-KEY-1${'Q'.repeat(58)}`],
  jwt: [`eyJ${letters(30)}.eyJ${letters(60)}.${letters(43)}`],
  'private-key': [key, key.replace('RSA ', ''), key.replaceAll('RSA ', 'OPENSSH ')],
  password: ['hunter2-and-more'],
  credential: [letters(30)],
}

/** What stands around where the shape is known by its surroundings. */
const SURROUNDINGS: Record<string, (token: string) => string> = {
  'slack-webhook': (token) => `https://hooks.slack.com/services/${token}`,
  'discord-webhook': (token) => `https://discord.com/api/webhooks/1234567890123456789/${token}`,
  'aws-secret-key': (token) => `aws_secret_access_key = ${token}`,
  password: (token) => `postgres://me:${token}@db.example.com/x`,
  credential: (token) => `Authorization: Bearer ${token}`,
}
const samples = Object.entries(SAMPLES).flatMap(([label, tokens]) =>
  tokens.map((token) => ({ label, token, text: (SURROUNDINGS[label] ?? String)(token) })),
)

describe('shapes of tokens', () => {
  it('each have a sample here', () => {
    expect(Object.keys(SAMPLES).toSorted()).toEqual([...new Set(TOKEN_SHAPES.map(({ label }) => label))].toSorted())
    expect(TOKEN_SHAPES.length).toBeGreaterThanOrEqual(25)
  })

  it.each(samples)('$label is masked in prose, code, JSON and addresses ($token)', ({ label, token, text }) => {
    for (const around of ['%', 'see %, please', '"%"', 'x=%\n', '(`%`)', '<%>', 'KEY: %;', '%\u3002', '[%](x)']) {
      const masked = shapesOnly.text(around.replace('%', () => text))
      expect(masked).not.toContain(token)
      expect(masked).toBe(around.replace('%', () => text.replace(token, () => `[redacted:${label}]`)))
    }
    const json = JSON.stringify({ id: 'call_1', result: `a "quoted" ${text}\nb` })
    expect(JSON.parse(shapesOnly.text(json))).toEqual({
      id: 'call_1',
      result: `a "quoted" ${text.replace(token, () => `[redacted:${label}]`)}\nb`,
    })
  })

  it.each([
    '550e8400-e29b-41d4-a716-446655440000',
    'd670460b4b4aece5915caf5c68d12f560a9fe3e4',
    'call_abcdefghijklmnopqrstuvwx',
    'toolu_01A09q90qw90lq917835lq9',
    'chatcmpl-ABCDEFGHIJKLMNOPQRSTUVWXYZ123',
    '1790000001.000100',
    '1234567890123456789',
    'sha512-q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ==',
    'ghp_short',
    'the sk-learn package, task-management, desk-lamp',
    'npm_config_registry=https://example.com',
    'https://example.com:8080/path@2?x=a:b@c',
    'http://localhost:3000/@user',
    'postgres://USER:${PASSWORD}@HOST/DATABASE',
    'git@github.com:owner/repo.git',
    'Authorization: Bearer <token>',
    'const authorization = token ?? undefined',
    'hf_hub_download(repo_id="x")',
    'AKIA and ASIA are prefixes',
    'eyJhbGciOiJIUzI1NiJ9 alone is a header',
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
    'it begins with `-----BEGIN PRIVATE KEY-----` and then the body follows in lines',
    'C:\\Users\\me\\xoxb-\\file',
  ])('%s is no secret', (text) => {
    expect(shapesOnly.text(text)).toBe(text)
    expect(shapesOnly.finds(text)).toBe(false)
  })

  it('a private key is masked also where it was cut off, indented, or written in JSON', () => {
    const lines = key.split('\n')
    for (const text of [
      lines.slice(0, 4).join('\n'),
      lines.map((line) => `    ${line}`).join('\n'),
      JSON.stringify(key),
    ]) {
      const masked = shapesOnly.text(text)
      expect(masked).toContain('[redacted:private-key]')
      expect(masked).not.toContain(letters(20))
    }
    expect(JSON.parse(shapesOnly.text(JSON.stringify(key)))).toBe('[redacted:private-key]')
  })

  it('take time in step with the length of the text, whatever it holds', () => {
    const hostile = [
      'a',
      'eyJ',
      '-----BEGIN PRIVATE KEY-----',
      '://',
      '://a:',
      'sk-',
      'authorization: bearer ',
      'M',
      'AKIA',
      '\\n',
      'xoxb-1',
      ':AA',
      '`',
    ]
    for (const piece of hostile) {
      const text = piece.repeat(Math.ceil(200_000 / piece.length))
      const start = performance.now()
      shapesOnly.text(text)
      expect(performance.now() - start).toBeLessThan(2_000)
    }
  })
})

describe('known secrets', () => {
  const secret = 'p@ss w"ord/+\\ü1'
  const redactor = createRedactor([secret, 'short', 'plain-secret-value'])

  it('are masked as they are, in JSON, in URLs and in base64, wherever they stand in it', () => {
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const forms = [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      encodeURIComponent(secret).replaceAll('%20', '+'),
      encodeURIComponent(secret).toLowerCase().replace('%c3%bc', '%c3%bc'),
      base64(secret).replace(/.==?$/, ''),
    ]
    for (const form of forms) {
      expect(redactor.text(`a ${form} b`)).toMatch(/^a \[redacted:secret\]\S{0,2} b$/)
      expect(redactor.findsKnown(`x${form}x`)).toBe(true)
    }
    for (const before of ['', 'u', 'me', 'me:', 'user:']) {
      const basic = base64(`${before}plain-secret-value${before}`)
      expect(redactor.text(basic)).toContain('[redacted:secret]')
      expect(redactor.text(Buffer.from(basic, 'base64').toString('base64url'))).toContain('[redacted:secret]')
      // What is left around it tells at most the signs that share a byte with the neighbours.
      expect(redactor.text(basic).replace('[redacted:secret]', '').length).toBeLessThan(before.length * 3 + 6)
    }
  })

  it('are left alone where they are too short to be told from words', () => {
    expect('short'.length).toBeLessThan(LEAST_SECRET_LENGTH)
    expect(redactor.text('a short text')).toBe('a short text')
    expect(createRedactor(['', ' ']).text('a b')).toBe('a b')
  })

  it('are left alone where they are an ordinary word, as the passwords of test databases are', () => {
    const words = createRedactor(['postgres', 'Password', 'DEVELOPMENT'])
    const text = 'The Password for postgres in DEVELOPMENT'
    expect(words.text(text)).toBe(text)
    expect(words.text('postgres://postgres:postgres@db/x')).toBe('postgres://postgres:[redacted:password]@db/x')
    expect(createRedactor(['abcdefghijklmnop']).finds('abcdefghijklmnop')).toBe(true)
    expect(createRedactor(['aBcDeFgHi']).finds('aBcDeFgHi')).toBe(true)
  })

  it('shapes are not known secrets, but both are found', () => {
    expect(redactor.findsKnown(`ghp_${letters(36)}`)).toBe(false)
    expect(redactor.finds(`ghp_${letters(36)}`)).toBe(true)
    expect(redactor.finds('plain-secret-value')).toBe(true)
  })

  it('that hold one another or overlap leave nothing behind', () => {
    const nested = createRedactor(['secret-one', 'secret-one-two', 'two-three-four'])
    expect(nested.text('secret-one-two-three-four.')).toBe('[redacted:secret].')
    expect(nested.text('secret-one secret-one-two')).toBe('[redacted:secret] [redacted:secret]')
  })
})

describe('values', () => {
  it('are masked through and through; ids, keys and the structure stay, and so does the original', () => {
    const secret = 'a-known-secret'
    const value = {
      id: secret,
      tool_call_id: `call-${secret}`,
      list: [secret, 1, null, true, { deep: `x ${secret}` }],
      [secret]: undefined,
    }
    const before = structuredClone(value)
    expect(createRedactor([secret]).value(value)).toEqual({
      id: secret,
      tool_call_id: `call-${secret}`,
      list: ['[redacted:secret]', 1, null, true, { deep: 'x [redacted:secret]' }],
      [secret]: undefined,
    })
    expect(value).toEqual(before)
  })
})

const secrets = ['known-secret-1', 'with some spaces in', 'ünïcödé-geheim']
const redactor = createRedactor(secrets)
const piece = fc.constantFrom(
  ...samples.map(({ text }) => text),
  ...secrets,
  ...secrets.map((secret) => Buffer.from(secret).toString('base64')),
  ...[
    'word',
    ' ',
    '\n',
    '.',
    '"',
    '\\',
    '你好。',
    '😀',
    'x=',
    '{',
    '}',
    '[',
    ']',
    ':',
    '/',
    '-----BEGIN ',
    '-----',
    'known-',
    'sk-',
    'a',
    '1',
  ],
)
const text = fc.array(piece, { maxLength: 12 }).map((parts) => parts.join(''))

describe('any text', () => {
  it('is the same after a second time, and holds no known secret after the first', () => {
    fc.assert(
      fc.property(text, (given) => {
        const masked = redactor.text(given)
        expect(redactor.text(masked)).toBe(masked)
        expect(redactor.finds(masked)).toBe(false)
        for (const secret of secrets) expect(masked).not.toContain(secret)
      }),
      { numRuns: 500 },
    )
  })

  it('that is JSON stays JSON of the same structure', () => {
    const structureOf = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(structureOf)
      if (value === null || typeof value !== 'object') return typeof value
      return Object.values(value).map(structureOf)
    }
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        text,
        fc.integer(),
        fc.array(tie('tree')),
        fc.dictionary(fc.constantFrom('a', 'b', 'id'), tie('tree')),
      ),
    }))
    fc.assert(
      fc.property(tree, (value) => {
        expect(structureOf(JSON.parse(redactor.text(JSON.stringify(value))))).toEqual(structureOf(value))
      }),
      { numRuns: 300 },
    )
  })
})

describe('a stream', () => {
  const streamed = (pieces: readonly string[]) => {
    const stream = redactor.stream()
    const frames = pieces.map((one) => stream.push(one))
    return { frames, whole: frames.join('') + stream.end() }
  }

  it('gives what the whole text gives, however it is cut', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 400 }), { maxLength: 30 }), (given, cuts) => {
        const places = [0, ...cuts.map((cut) => cut % (given.length + 1)).toSorted((a, b) => a - b), given.length]
        const pieces = places.slice(1).map((end, index) => given.slice(places[index], end))
        expect(streamed(pieces).whole).toBe(redactor.text(given))
      }),
      { numRuns: 1_000 },
    )
  })

  it('shows no part of a secret before it is whole, letter by letter', () => {
    for (const { text: sample, token } of samples) {
      const { frames } = streamed([...`here: ${sample} and on`])
      expect(frames.join('')).not.toContain(token.slice(0, 12))
    }
    for (const secret of secrets)
      expect(streamed([...`here: ${secret} and on`]).whole).toBe('here: [redacted:secret] and on')
  })

  it('holds back little: a word at most, also in languages without spaces', () => {
    const plain = createRedactor(['known-secret-1']).stream()
    expect(plain.push('Hello, wor')).toBe('Hello, ')
    expect(plain.push('ld! ')).toBe('world! ')
    expect(plain.push('你好，世界')).toBe('你好，世界')
    expect(plain.push('😀'.slice(0, 1))).toBe('')
    expect(plain.push('😀'.slice(1))).toBe('😀')
  })

  it('lets go of a run without spaces that grows too long to be a token', () => {
    const stream = createRedactor().stream()
    expect(stream.push('+'.repeat(10_000)).length).toBeGreaterThan(7_000)
  })

  it('waits for the end of a private key, but not for ever', () => {
    const stream = createRedactor().stream()
    expect(stream.push('-----BEGIN PRIVATE KEY-----\n')).toBe('')
    expect(stream.push(`${letters(64)}\n`)).toBe('')
    expect(stream.push('-----END PRIVATE KEY-----\nok ')).toBe('[redacted:private-key]\nok ')
    expect(stream.push('-----BEGIN PRIVATE KEY----- is how it begins. And so on ')).toContain('And so on')
    const endless = createRedactor().stream()
    endless.push('-----BEGIN PRIVATE KEY-----\n')
    let shown = ''
    for (let line = 0; line < 400; line++) shown += endless.push(`${letters(64)}\n`)
    expect(shown).not.toBe('')
  })
})
