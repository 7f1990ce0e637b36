import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import type { ThreadRef } from '../../src/shared/thread.ts'
import { CHROMIUM, CHROMIUM_FLAGS, type RunningConsole, startConsole } from './console.ts'

/** A console for each test of the calling `describe`, and pages that look at it. Nothing may break in any of them. */
export function useConsolePages() {
  let browser: Browser
  const complaints: string[] = []
  const pages: Page[] = []
  const all = { web: undefined as unknown as RunningConsole, blank, visit, say, begin, away, listen }

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_FLAGS })
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    all.web = await startConsole()
  })
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.context().close()
    await all.web.stop()
    // The page's policy may stop nothing of our own, either.
    expect(complaints.splice(0)).toEqual([])
  })

  /** An empty page of a person of its own. */
  async function blank(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(20_000)
    pages.push(page)
    page.on('pageerror', (error) => complaints.push(String(error)))
    page.on('console', (line) => {
      // The browser itself reports requests that fail; tests that cut the connection make some.
      if (line.type() === 'error' && !/Failed to load resource|net::ERR/.test(line.text())) complaints.push(line.text())
    })
    return page
  }

  async function visit(path = '/console', options: BrowserContextOptions = {}): Promise<Page> {
    const page = await blank(options)
    await page.goto(all.web.url + path)
    await page.waitForSelector('[data-state="connected"]')
    return page
  }

  async function say(page: Page, text: string): Promise<void> {
    const composer = page.getByRole('textbox', { name: 'Message' })
    await composer.fill(text)
    await composer.press('Enter')
  }

  /** Says something in a new thread; resolves when the page shows that thread as the server has it. */
  async function begin(page: Page, text = 'hello'): Promise<ThreadRef> {
    await say(page, text)
    await page.waitForURL(/\/console\/t\//)
    await page.locator('.person:not([data-sending])').waitFor()
    return all.web.conversation.messages.at(-1)!.thread
  }

  /** Cuts the page off, lets something happen to its thread meanwhile, and brings the server back with the same store. */
  async function away(page: Page, act: (elsewhere: RunningConsole) => Promise<unknown>): Promise<void> {
    const { port, storage } = all.web
    await all.web.stop()
    await page.getByText('Connection lost').waitFor()
    const elsewhere = await startConsole({ storage })
    await act(elsewhere)
    await elsewhere.stop()
    all.web = await startConsole({ port, storage })
  }

  /** From here on `heard` of the page lists what a screen reader is given. */
  async function listen(page: Page): Promise<() => Promise<string[]>> {
    await page.evaluate(`{
      window.heard = []
      const announcer = document.querySelector('#announcer')
      const note = () => announcer.innerText && heard.push(announcer.innerText)
      new MutationObserver(note).observe(announcer, { childList: true })
    }`)
    return () => page.evaluate<string[]>('heard')
  }

  return all
}
