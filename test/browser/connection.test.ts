import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { BUTTONS, CARD } from './cardSamples.ts'
import { noBrowser, startConsole } from './console.ts'
import { useConsolePages } from './pages.ts'

describe.skipIf(noBrowser)('a page whose connection is not always there', () => {
  const on = useConsolePages()
  const { visit, begin, say } = on
  const inThread = (page: Page, text: string) => page.locator('.messages').getByText(text, { exact: true })

  test('a lost connection is said, and on its return the page is right again; what was typed meanwhile is sent once', async () => {
    const page = await visit()
    const thread = await begin(page)
    const ref = await on.web.conversation.post(thread, 'before the cut', { live: true })
    await inThread(page, 'before the cut').waitFor()
    const { port, storage } = on.web
    await on.web.stop()
    await page.getByText('Connection lost').waitFor()
    await say(page, 'typed while away')
    await page.getByText('Not sent yet').waitFor()
    on.web = await startConsole({ port, storage })
    await on.web.conversation.edit(thread, ref, 'after the cut')
    await inThread(page, 'after the cut').waitFor()
    await expect
      .poll(() => on.web.conversation.messages.map(({ text }) => text), { timeout: 12_000 })
      .toEqual(['typed while away'])
    await page.getByText('Not sent yet').waitFor({ state: 'detached' })
    await expect.poll(() => page.locator('.person .bubble').allInnerTexts()).toEqual(['hello', 'typed while away'])
    expect(await inThread(page, 'before the cut').count()).toBe(0)
  })

  test('an answer to a submission that got lost makes no second message', async () => {
    const page = await visit()
    let lost = 0
    await page.route('**/api/submit', async (route) => {
      if (lost++ > 0) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await begin(page, 'only once')
    await expect.poll(() => lost).toBeGreaterThan(1)
    await expect.poll(() => page.locator('.person .bubble').allInnerTexts()).toEqual(['only once'])
    expect(on.web.conversation.messages).toHaveLength(1)
  })

  test('a page that missed more than a picture holds has no gap, and the rest is there on demand', async () => {
    const page = await visit()
    const thread = await begin(page)
    await on.web.conversation.post(thread, 'seen before')
    await inThread(page, 'seen before').waitFor()
    await on.away(page, async ({ platform }) => {
      for (let n = 1; n <= 130; n++) {
        await platform.post(thread, { markdown: `note ${n}.`, kind: 'activity' }, { key: `away ${n}` })
      }
    })
    await inThread(page, 'note 130.').waitFor()
    expect(await inThread(page, 'seen before').count()).toBe(0)
    await page.getByRole('button', { name: 'Show earlier messages' }).click()
    await inThread(page, 'seen before').waitFor()
    const calls = await page.locator('.activity .call').allInnerTexts()
    expect(calls).toEqual(Array.from({ length: 130 }, (_, index) => `note ${index + 1}.`))
  })

  test('a card with the focus that was deleted meanwhile leaves the focus to the thread', async () => {
    const page = await visit()
    const thread = await begin(page)
    const ref = await on.web.conversation.post(thread, CARD, { kind: 'card', buttons: BUTTONS })
    await page.getByRole('button', { name: 'Approve' }).focus()
    await on.away(page, ({ platform }) => platform.remove(thread, ref))
    await page.locator('.card').waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
  })

  test('what the server does not take says so, and trying again leaves the focus to the message field', async () => {
    const page = await visit()
    let attempts = 0
    await page.route('**/api/submit', (route) => {
      if (attempts++ > 0) return route.continue()
      return route.fulfill({ status: 413, json: { error: 'tooLong' } })
    })
    await say(page, 'once more')
    await page.getByRole('status').filter({ hasText: 'This is too long to send as one message.' }).waitFor()
    await page.getByRole('button', { name: 'Try again' }).press('Enter')
    await page.locator('.person:not([data-sending])').waitFor()
    expect(await page.evaluate('document.activeElement.id')).toBe('composer-text')
    expect(on.web.conversation.messages).toMatchObject([{ text: 'once more' }])
  })
})
