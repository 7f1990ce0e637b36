import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Button, ClickAnswer } from '../../src/platform/platform.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import { ASKS, BUTTONS, CARD, DENY, DIFF, EDIT, SETTLED, VALUE } from './cardSamples.ts'
import { CHROMIUM, CHROMIUM_FLAGS, noBrowser, type RunningConsole, startConsole } from './console.ts'
import { objectionsTo, overflowOf } from './objections.ts'

interface Box {
  scrollTop: number
  scrollWidth: number
  clientWidth: number
}
const scrollTop = (box: Box) => box.scrollTop

describe.skipIf(noBrowser)('cards and dialogs in a browser', () => {
  let browser: Browser
  let web: RunningConsole
  let page: Page
  let thread: ThreadRef
  const complaints: string[] = []

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS })
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    web = await startConsole()
  })
  afterEach(async () => {
    await page.context().close()
    await web.stop()
    expect(complaints.splice(0)).toEqual([])
  })

  async function visit(options: BrowserContextOptions = {}): Promise<void> {
    page = await (await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })).newPage()
    page.setDefaultTimeout(8000)
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('console', (line) => {
      if (line.type() === 'error' && !/Failed to load resource|net::ERR/.test(line.text())) complaints.push(line.text())
    })
    await page.goto(`${web.url}/console`)
    await page.waitForSelector('[data-state="connected"]')
    await page.getByRole('textbox', { name: 'Message' }).fill('please change it')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/t\//)
    // Confirmed by the server: from here on, what comes is news, and no part of what the page begins with.
    await page.locator('.person:not([data-sending])').waitFor()
    thread = web.conversation.messages[0]!.thread
    await page.evaluate(`{
      window.heard = []
      const announcer = document.querySelector('#announcer')
      new MutationObserver(() => heard.push(announcer.innerText)).observe(announcer, { childList: true })
    }`)
  }

  const post = (markdown = CARD, buttons = BUTTONS) =>
    web.conversation.post(thread, markdown, { kind: 'card', buttons })
  const settle = (ref: MessageRef, markdown = SETTLED) => web.conversation.edit(thread, ref, markdown, { kind: 'card' })
  const card = () => page.getByRole('region', { name: /^Waiting for a decision: May I run edit_file\?$/ })
  const inCard = (text: string) => page.locator('.card').getByText(text)
  const field = (name: string) => page.getByRole('dialog').getByRole('textbox', { name })
  const button = (name: string) => page.getByRole('button', { name })
  const heard = () => page.evaluate<string[]>('heard')
  const focused = () =>
    page.evaluate<string>(`{
      const one = document.activeElement
      one.getAttribute('aria-label') || one.id || one.textContent.trim() || one.localName
    }`)

  async function tabTo(wanted: string, key = 'Shift+Tab'): Promise<void> {
    for (let presses = 0; presses < 30; presses++) {
      if ((await focused()) === wanted) return
      await page.keyboard.press(key)
    }
    throw new Error(`the keyboard does not reach ${wanted}`)
  }

  /** The real conversation's answers: dialogs for Edit and Deny, a decision at once for the others, settled in place. */
  function decide(
    ref: MessageRef,
    answers: Partial<Record<string, ClickAnswer>> = { edit: { dialog: EDIT }, deny: { dialog: DENY } },
  ) {
    web.conversation.onClick(async ({ action }) => {
      const answer = answers[action]
      if (!answer) await settle(ref)
      return answer ?? {}
    })
  }

  test('a card is a named region with the whole diff in a block that scrolls by keyboard, signs and all', async () => {
    await visit()
    await post()
    await card().waitFor()
    const block = card().getByRole('group', { name: 'Changes, line by line' })
    expect(await block.locator('code').textContent()).toBe(`${DIFF}\n`)
    expect(await block.locator('ins').allTextContents()).toEqual(['+new line\n', '+++ pluses\n'])
    expect(await block.locator('del').allTextContents()).toEqual(['-old <b>line</b>\n', '--- dashes\n'])
    await tabTo('Changes, line by line')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => block.evaluate(scrollTop)).toBeGreaterThan(0)
    expect(await block.evaluate((pre: Box) => pre.scrollWidth > pre.clientWidth)).toBe(true)
  })

  test('a card is read out once when it comes, and how it was settled once', async () => {
    await visit()
    const ref = await post('**May I run `edit_file`?**')
    await expect.poll(heard).toEqual(['Waiting for a decision: May I run edit_file?'])
    // A further vote, a reaction and a new connection say nothing new.
    await web.conversation.edit(thread, ref, '**May I run `edit_file`?**\n\nOne of two agreed.', {
      kind: 'card',
      buttons: BUTTONS,
    })
    await inCard('One of two agreed.').waitFor()
    await web.platform.react(thread, ref, 'waiting')
    await settle(ref, '**May I run `edit_file`?**\n\n✅ Approved by Dana')
    await expect.poll(heard).toEqual(['Waiting for a decision: May I run edit_file?', 'Decided: ✅ Approved by Dana'])
    expect(await page.locator('#announcer').getAttribute('aria-live')).toBe('polite')
  })

  test('a question that asks for words is read out as it is, and is not said to be decided', async () => {
    await visit()
    await post('**A question:**\n\nTabs or spaces?\n\nAnswer with a message in this thread.', [])
    await page
      .getByRole('group', { name: 'A question: Tabs or spaces? Answer with a message in this thread.' })
      .waitFor()
    await expect.poll(heard).toEqual(['ToyCoder: A question: Tabs or spaces? Answer with a message in this thread.'])
  })

  test('Approve by keyboard settles the card in place, and the focus stays with it', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    await card().waitFor()
    await tabTo('Approve')
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await page.keyboard.press('Enter')
    await inCard('Approved by Dana').waitFor()
    await expect.poll(focused).toBe('May I run edit_file? ✅ Approved by Dana, 2026-12-02 10:00 UTC')
    expect(await button('Approve').count()).toBe(0)
    expect(await page.locator('.card').count()).toBe(1)
    expect(web.conversation.clicks).toMatchObject([{ action: 'approve', value: VALUE, ref: { id: ref.id } }])
  })

  test('a decision of somebody else takes neither the place in the diff nor the focus', async () => {
    await visit()
    const ref = await post()
    await card().waitFor()
    await tabTo('Changes, line by line')
    const top = () => page.locator('.card pre').evaluate(scrollTop)
    await page.locator('.card pre').evaluate((pre: Box) => {
      pre.scrollTop = 200
    })
    const before = await top()
    await settle(ref)
    await inCard('Approved by Dana').waitFor()
    expect(await focused()).toBe('Changes, line by line')
    expect(await top()).toBe(before)
  })

  test('new buttons of the same card take the focus of the old ones, and mean their own version', async () => {
    await visit()
    const ref = await post()
    await card().waitFor()
    await tabTo('Approve')
    const next = BUTTONS.map((one) => ({ ...one, value: 'c12.0/2' }))
    await web.conversation.edit(thread, ref, `${CARD} Again.`, { kind: 'card', buttons: next })
    await inCard('Again.').waitFor()
    expect(await focused()).toBe('Approve')
    await page.keyboard.press('Enter')
    await expect.poll(() => web.conversation.clicks.map(({ value }) => value)).toEqual(['c12.0/2'])
  })

  test('Deny with a reason, by keyboard alone', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    web.conversation.onSubmit(async () => {
      await settle(ref, `${ASKS}\n\n⛔ Denied by Dana`)
      return {}
    })
    await card().waitFor()
    await tabTo('Deny…')
    await page.keyboard.press('Space')
    const dialog = page.getByRole('dialog', { name: 'Deny this call' })
    await dialog.waitFor()
    expect(await page.evaluate('document.activeElement.localName')).toBe('textarea')
    await page.keyboard.type('Not on a Friday.')
    await page.keyboard.press('Enter')
    await page.keyboard.type('Ask me on Monday.')
    await tabTo('Submit', 'Tab')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await inCard('Denied by Dana').waitFor()
    await expect.poll(focused).toBe('May I run edit_file? ⛔ Denied by Dana')
    expect(web.conversation.submissions).toMatchObject([
      {
        action: 'deny',
        value: VALUE,
        thread: { id: thread.id },
        fields: { reason: 'Not on a Friday.\nAsk me on Monday.' },
      },
    ])
  })

  test('Edit by keyboard alone: what is wrong stands at its field, and what is sent is what was typed', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    web.conversation.onSubmit(async () =>
      web.conversation.submissions.length === 1
        ? { errors: { timeout_s: 'This is no JSON.', nowhere: 'And this.' } }
        : { text: 'A **new** card comes.' },
    )
    await card().waitFor()
    await tabTo('Edit…')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Edit run_command' })
    await dialog.waitFor()
    const command = field('command')
    expect(await command.inputValue()).toBe('npm test\n\techo $&')
    expect(await page.evaluate('getComputedStyle(document.activeElement).fontFamily')).toMatch(/mono/i)
    await page.keyboard.press('Control+End')
    await page.keyboard.type(' done  ')
    await page.keyboard.press('Tab')
    await page.keyboard.type('soon')
    await tabTo('Submit', 'Tab')
    await page.keyboard.press('Enter')
    await dialog.getByText('This is no JSON.').waitFor()
    await dialog.getByText('And this.').waitFor()
    const wrong = field('timeout_s')
    expect(await wrong.getAttribute('aria-invalid')).toBe('true')
    const described = await wrong.getAttribute('aria-describedby')
    expect(await page.locator(`#${described}`).textContent()).toBe('This is no JSON.')
    expect(await page.evaluate('document.activeElement.id')).toBe(await wrong.getAttribute('id'))
    await page.keyboard.press('Control+A')
    await page.keyboard.type('60')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await page.locator('.whisper strong', { hasText: 'new' }).waitFor()
    const [first, second] = web.conversation.submissions
    expect(second!.fields).toEqual({ command: 'npm test\n\techo $& done  ', timeout_s: '60' })
    expect(second!.id).not.toBe(first!.id)
    expect(await focused()).toBe('Edit…')
  })

  test('Escape closes a dialog and gives the focus back; within it the keyboard goes in a circle', async () => {
    await visit()
    decide(await post())
    await card().waitFor()
    await tabTo('Edit…')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    for (let n = 0; n < 8; n++) {
      await page.keyboard.press('Tab')
      const where = `document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)`
      expect(await page.evaluate(where)).toBe(true)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await focused()).toBe('Edit…')
    expect(web.conversation.submissions).toEqual([])
  })

  test('an empty field that has to be filled is told before anything is sent', async () => {
    await visit()
    decide(await post())
    await button('Edit…').click()
    await field('command').fill('')
    await button('Submit').click()
    await page.getByText('This field can’t be empty.').waitFor()
    expect(await page.evaluate('document.activeElement.localName')).toBe('textarea')
    expect(web.conversation.submissions).toEqual([])
  })

  test('when sending fails the text is kept, and the same is sent again by the same id', async () => {
    await visit()
    decide(await post())
    await button('Edit…').click()
    await field('command').fill('typed with care')
    const ids: string[] = []
    await page.route('**/api/dialog', async (route) => {
      ids.push(route.request().postDataJSON().id)
      if (ids.length > 2) return route.continue()
      // The first gets there and its answer is lost, the second gets nowhere.
      if (ids.length === 1) await route.fetch()
      await route.abort()
    })
    for (const times of [1, 2]) {
      await button('Submit').click()
      await page.getByText('Your text is kept').waitFor()
      expect(ids).toHaveLength(times)
      expect(await field('command').inputValue()).toBe('typed with care')
    }
    await button('Submit').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new Set(ids).size).toBe(1)
    expect(web.conversation.submissions).toMatchObject([{ fields: { command: 'typed with care' } }])
  })

  test('a megabyte of arguments opens, is changed and arrives whole', async () => {
    await visit()
    const value = 'const x = 1 // 例\n'.repeat(60_000).slice(0, 999_990)
    const fields = [{ ...EDIT.fields[0]!, value }]
    decide(await post(), { edit: { dialog: { ...EDIT, fields } } })
    await button('Edit…').click()
    await field('command').waitFor()
    await page.keyboard.press('Control+End')
    await page.keyboard.type('!')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(web.conversation.submissions[0]!.fields.command === `${value}!`).toBe(true)
  })

  test('a dialog whose card is settled meanwhile gives the focus to the card', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    await button('Edit…').click()
    await page.getByRole('dialog').waitFor()
    await settle(ref)
    await button('Approve').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await expect.poll(focused).toBe('May I run edit_file? ✅ Approved by Dana, 2026-12-02 10:00 UTC')
  })

  test('a press that does not get through is said, and can be pressed again', async () => {
    await visit()
    const ref = await post()
    web.conversation.onClick(async () => {
      throw new Error('the store is away')
    })
    await button('Approve').click()
    await page.getByText('That did not get through.').waitFor()
    decide(ref)
    await button('Approve').click()
    await inCard('Approved by Dana').waitFor()
  })

  test('words for one person have their buttons, and go when these have done their work', async () => {
    await visit()
    const buttons: Button[] = [
      { action: 'denyall', label: 'Deny all and use this message', style: 'danger', value: '7' },
    ]
    await web.platform.whisper(thread, 'local', 'It waits for a **decision**.', { buttons })
    web.conversation.onClick(async () => ({}))
    await page.getByText('It waits for a decision.').waitFor()
    await tabTo('Deny all and use this message')
    await page.keyboard.press('Enter')
    await page.getByText('It waits for a decision.').waitFor({ state: 'detached' })
    expect(await focused()).toBe('composer-text')
    expect(web.conversation.clicks).toMatchObject([{ action: 'denyall', value: '7', thread: { id: thread.id } }])
  })

  test('a thread that waits says so in the list and in the title of the page, until it is decided', async () => {
    await visit()
    const ref = await post()
    const link = page.getByRole('navigation', { name: 'Threads' }).getByRole('link', { name: 'please change it' })
    await link.getByText('Waiting for you').waitFor()
    expect(await page.title()).toBe('Waiting for you (1) · please change it · ToyCoder')
    await page.getByRole('link', { name: 'New thread' }).click()
    await expect.poll(() => page.title()).toBe('Waiting for you (1) · ToyCoder')
    await page.reload()
    await expect.poll(() => page.title()).toBe('Waiting for you (1) · ToyCoder')
    await settle(ref)
    await expect.poll(() => page.title()).toBe('ToyCoder')
    expect(await link.getByText('Waiting for you').isVisible()).toBe(false)
  })

  test.each([
    ['wide and light', { colorScheme: 'light' as const, viewport: { width: 1280, height: 800 } }],
    ['narrow and light', { colorScheme: 'light' as const, viewport: { width: 360, height: 720 } }],
    ['wide and dark', { colorScheme: 'dark' as const, viewport: { width: 1280, height: 800 } }],
    ['narrow and dark', { colorScheme: 'dark' as const, viewport: { width: 360, height: 720 } }],
  ])('axe finds nothing to object to and nothing scrolls sideways, %s', async (_, options) => {
    await visit({ ...options, bypassCSP: true })
    const ref = await post(`${ASKS}\n\n\`\`\`sh\nnpm test\n\`\`\``)
    await settle(ref, `${ASKS}\n\n✅ Approved by Dana`)
    decide(await post())
    await web.platform.whisper(thread, 'local', 'Only for you.', { buttons: BUTTONS.slice(3) })
    await card().waitFor()
    await page.getByText('Only for you.').waitFor()
    expect(await objectionsTo(page)).toEqual([])
    expect(await overflowOf(page)).toEqual([0, 0])
    web.conversation.onSubmit(async () => ({ errors: { timeout_s: 'This is no JSON.' } }))
    await card().getByRole('button', { name: 'Edit…' }).click()
    await button('Submit').click()
    await page.getByText('This is no JSON.').waitFor()
    expect(await objectionsTo(page)).toEqual([])
    expect(await overflowOf(page)).toEqual([0, 0, 0])
  })
})
