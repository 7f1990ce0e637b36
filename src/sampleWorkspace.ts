import { randomUUID } from 'node:crypto'
import { lstat, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf, SetupError } from './shared/errors.ts'

/**
 * Makes sure that there is a folder for the tools to work on. One that is there is never touched, also when it is empty;
 * otherwise it is made with a small sample project, all at once: a start that is killed half way leaves no half of it.
 * @param path absolute
 * @throws SetupError when something else is in its place, or when it can't be made
 */
export async function ensureWorkspace(path: string): Promise<'made' | 'found'> {
  if (await exists(path)) {
    if (await isFolder(path)) return 'found'
    throw new SetupError([
      {
        problem: `The workspace ${path} is not a folder.`,
        mend: 'Set `TOYCODER_WORKSPACE` (or `workspaces.main.path`) to the folder of a project.',
      },
    ])
  }
  const draft = `${path}.new-${randomUUID()}`
  try {
    for (const [name, content] of Object.entries(SAMPLE_PROJECT)) {
      const file = join(draft, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
    }
    await rename(draft, path)
    return 'made'
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined)
    // Another start was faster: a folder with something in it can't be replaced.
    if (await isFolder(path)) return 'found'
    throw new SetupError(
      [
        {
          problem: `The workspace ${path} can't be made: ${messageOf(error)}.`,
          mend: 'Make the folder yourself, or set `TOYCODER_WORKSPACE` to one that is there.',
        },
      ],
      { cause: error },
    )
  }
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  )

const isFolder = (path: string) =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

/**
 * A bill splitter with something to find: the cents that don't divide evenly get lost, the tests don't see it, and the list
 * of things to do has a report of it. It runs on Node alone (`node --test`, `node src/cli.js 10.00 3`).
 */
export const SAMPLE_PROJECT: Readonly<Record<string, string>> = {
  'README.md': `# fairshare

Splits a bill between friends, to the cent.

    node src/cli.js 42.50 4          # four people, equal shares
    node src/cli.js 42.50 4 --tip 10 # with a tip of 10 percent

The rule that everything rests on: **the shares always add up to the bill.**

| file | what it does |
| --- | --- |
| \`src/money.js\` | amounts as whole cents: reading and printing |
| \`src/split.js\` | the splitting itself |
| \`src/cli.js\` | the command line |
| \`test/\` | run with \`npm test\` |
`,
  'package.json': `{
  "name": "fairshare",
  "version": "0.1.0",
  "description": "Splits a bill between friends, to the cent",
  "private": true,
  "type": "module",
  "scripts": {
    "start": "node src/cli.js",
    "test": "node --test"
  }
}
`,
  'TODO.md': `# To do

- [ ] Reported by Mira: \`node src/cli.js 10.00 3\` says 3.33 for everybody. That makes 9.99. Who pays the last cent?
- [ ] \`--tip\` takes negative numbers without a complaint.
- [ ] Shares by weight: whoever had the lobster pays for it.
- [x] Amounts as cents, no more 0.1 + 0.2.
`,
  'src/money.js': `/** Amounts are whole cents everywhere, so that nothing is lost in floating point. */

/** @param {string} text such as "42.50" or "42" */
export function parseAmount(text) {
  const match = /^(\\d+)(?:\\.(\\d{2}))?$/.exec(text.trim())
  if (match === null) throw new Error(\`"\${text}" is not an amount; write it like 42.50\`)
  return Number(match[1]) * 100 + Number(match[2] ?? 0)
}

/** @param {number} cents */
export function formatAmount(cents) {
  return \`\${Math.floor(cents / 100)}.\${String(cents % 100).padStart(2, '0')}\`
}
`,
  'src/split.js': `/**
 * Splits a bill into equal shares.
 *
 * @param {number} cents the bill
 * @param {number} people how many share it
 * @returns {number[]} one share a person, in cents
 */
export function splitBill(cents, people) {
  if (!Number.isInteger(people) || people < 1) throw new Error('a bill needs at least one person')
  const share = Math.floor(cents / people)
  return Array.from({ length: people }, () => share)
}

/**
 * @param {number} cents the bill
 * @param {number} percent
 * @returns {number} the bill with the tip, in cents
 */
export function addTip(cents, percent) {
  return Math.round(cents * (1 + percent / 100))
}
`,
  'src/cli.js': `import { parseArgs } from 'node:util'
import { formatAmount, parseAmount } from './money.js'
import { addTip, splitBill } from './split.js'

const { values, positionals } = parseArgs({
  options: { tip: { type: 'string', default: '0' } },
  allowPositionals: true,
})
const [bill, people] = positionals

if (bill === undefined || people === undefined) {
  console.error('usage: node src/cli.js BILL PEOPLE [--tip PERCENT]')
  process.exitCode = 2
} else {
  const total = addTip(parseAmount(bill), Number(values.tip))
  splitBill(total, Number(people)).forEach((share, index) => {
    console.log(\`person \${index + 1} pays \${formatAmount(share)}\`)
  })
}
`,
  'test/split.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAmount, parseAmount } from '../src/money.js'
import { addTip, splitBill } from '../src/split.js'

test('amounts are read and printed as cents', () => {
  assert.equal(parseAmount('42.50'), 4250)
  assert.equal(parseAmount('7'), 700)
  assert.equal(formatAmount(4205), '42.05')
  assert.throws(() => parseAmount('12,50'), /write it like 42.50/)
})

test('a bill is split into equal shares', () => {
  assert.deepEqual(splitBill(4000, 4), [1000, 1000, 1000, 1000])
  assert.deepEqual(splitBill(999, 1), [999])
})

test('nobody is not enough to pay', () => {
  assert.throws(() => splitBill(100, 0), /at least one person/)
})

test('a tip is added in percent', () => {
  assert.equal(addTip(1000, 10), 1100)
})
`,
}
