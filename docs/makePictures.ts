/**
 * Makes the pictures of the README: the started program with a scripted model, the console in Chromium, and a Slack thread
 * as the test double renders it. `npm run pictures` (needs Chromium, see the README's tests).
 */
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { type LlmReply, startLlmDouble } from '../test/doubles/llm/server.ts'
import { startSlackDouble } from '../test/doubles/slack/slackDouble.ts'
import { makeHome, until } from '../test/scenario/program.ts'

const QUESTION = 'three people split 100.00 and a cent goes missing. Where?'

const REPLIES: LlmReply[] = [
  {
    toolCalls: [
      { name: 'grep_search', arguments: { pattern: 'Math\\.floor', path: 'src' } },
      { name: 'read_file', arguments: { path: 'src/split.js' } },
    ],
  },
  {
    text: [
      'The cent is lost in `splitBill`: it rounds every share down and never hands out the rest.\n\n',
      '```js\nconst share = Math.floor(cents / people)   // 3333, three times: 99.99\n```\n\n',
      '| people | bill | shares | missing |\n| ---: | ---: | ---: | ---: |\n| 3 | 100.00 | 33.33 × 3 | 0.01 |\n| 7 | 100.00 | 14.28 × 7 | 0.04 |\n\n',
      'Give the first `cents % people` people one cent more, and the shares add up again. Shall I make that change?',
    ],
  },
]

const ORDER = 'yes please, change it'

const EDIT: LlmReply = {
  text: 'The first people get the cents that are left over:',
  toolCalls: [
    {
      name: 'edit_file',
      arguments: {
        path: 'src/split.js',
        old_string: '  return Array.from({ length: people }, () => share)',
        new_string:
          '  const left = cents - share * people\n  return Array.from({ length: people }, (_, index) => share + (index < left ? 1 : 0))',
      },
    },
  ],
}

const OUT = join(import.meta.dirname, 'img')
const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const slack = await startSlackDouble()
const llm = await startLlmDouble({ models: ['qwen3-coder'] })
const home = makeHome({
  ...slack.env,
  ...llm.env,
})
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: CHROMIUM_FLAGS,
})
try {
  const program = await home.start()
  llm.reply(...REPLIES)
  const ts = slack.mention('U0ANNA', 'C0DEV', QUESTION)
  await until('the answer in Slack', () => slack.threadText('C0DEV', ts).includes('qwen3-coder ·'))
  llm.reply(EDIT)
  slack.say('U0ANNA', 'C0DEV', ORDER, { threadTs: ts })
  await until('the card in Slack', () => slack.threadText('C0DEV', ts).includes('edit_file'))
  const thread = await browser.newPage({ viewport: { width: 720, height: 900 }, deviceScaleFactor: 2 })
  await thread.setContent(slack.renderThreadHtml('C0DEV', ts))
  await thread.screenshot({ path: join(OUT, 'slack-thread.png'), fullPage: true })

  llm.reply(...REPLIES)
  const page = await browser.newPage({ viewport: { width: 1180, height: 900 }, deviceScaleFactor: 2 })
  await page.goto(`${program.url}/console`)
  await page.getByRole('textbox').first().fill(QUESTION)
  await page.keyboard.press('Enter')
  await page.getByText('qwen3-coder ·').waitFor()
  llm.reply(EDIT)
  await page.getByRole('textbox').first().fill(ORDER)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await page.screenshot({ path: join(OUT, 'console.png') })
} finally {
  await browser.close()
  await home.remove()
  await Promise.all([slack.close(), llm.close()])
}
