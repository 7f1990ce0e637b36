import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { makeHome, type Program, type ProgramHome } from '../scenario/program.ts'
import { CHROMIUM, CHROMIUM_FLAGS, noBrowser } from './console.ts'

if (noBrowser) console.warn(`The started program is not tested in a browser: ${noBrowser}`)

describe.skipIf(noBrowser)('the started program without any settings, in a browser', () => {
  let browser: Browser
  let home: ProgramHome
  let program: Program
  let page: Page
  const complaints: string[] = []

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS })
  })
  afterAll(() => browser?.close())

  beforeEach(async () => {
    home = makeHome()
    program = await home.start()
    page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
    page.setDefaultTimeout(20_000)
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(program.url)
    await page.waitForSelector('[data-state="connected"]')
  })
  afterEach(async () => {
    await page.context().close()
    await home.remove()
    expect(complaints.splice(0)).toEqual([])
  })

  const messages = (text: string | RegExp) => page.locator('.messages').getByText(text).first()

  async function say(text: string): Promise<void> {
    await page.getByRole('textbox', { name: 'Message' }).fill(text)
    await page.keyboard.press('Enter')
  }

  test('the demo model reads the sample project by its tools, and says that it is no language model', async () => {
    await say('What is in the workspace?')
    await messages(/no language model/i).waitFor()
    // The whole answer is there.
    await messages(/\d\.\d s/).waitFor()
    const rows = await page.locator('.messages').textContent()
    expect(rows).toContain('list_directory')
    expect(rows).toContain('read_file')
    expect(rows).toContain('OPENAI_API_KEY')
  })

  test('/plan streams a plan, and a follow-up in its thread is answered', async () => {
    await say('/plan Add a test for the parts that have none')
    await messages(/no language model/i).waitFor()
    await say('thanks')
    await expect.poll(() => page.locator('.answer').count(), { timeout: 20_000 }).toBeGreaterThanOrEqual(2)
  })

  test('an open page finds the program again after a restart, and the thread goes on', async () => {
    await say('hello')
    await messages(/\d\.\d s/).waitFor()
    const { port } = new URL(program.url)
    expect(await program.stop()).toBe(0)
    program = await home.start({ PORT: port })
    await page.waitForSelector('[data-state="connected"]')
    await say('still there?')
    await expect.poll(() => page.locator('.answer').count(), { timeout: 20_000 }).toBeGreaterThanOrEqual(2)
    expect(await page.locator('.person').count()).toBe(2)
  })
})
