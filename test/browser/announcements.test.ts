import { describe, expect, test } from 'vitest'
import { noBrowser } from './console.ts'
import { useConsolePages } from './pages.ts'

describe.skipIf(noBrowser)('what a screen reader is told', () => {
  const on = useConsolePages()

  test('a finished answer is heard once, and not every frame', async () => {
    const page = await on.visit()
    const thread = await on.begin(page)
    const heard = await on.listen(page)
    const ref = await on.web.conversation.post(thread, 'one', { live: true })
    for (const text of ['one two', 'one two three']) {
      await on.web.conversation.edit(thread, ref, text, { live: true })
    }
    await on.web.conversation.edit(thread, ref, 'All is done.')
    await expect.poll(heard).toEqual(['ToyCoder answered: All is done.'])
    expect(await page.locator('#announcer').getAttribute('aria-live')).toBe('polite')
  })

  test('an answer that is there before the page has its new thread is heard all the same', async () => {
    const page = await on.visit()
    const heard = await on.listen(page)
    on.web.conversation.onEvent((thread) => on.web.conversation.post(thread, 'At once.'))
    await page.route('**/api/submit', async (route) => {
      const response = await route.fetch()
      await expect.poll(() => on.web.conversation.messages.length).toBe(1)
      await route.fulfill({ response })
    })
    await on.begin(page)
    await expect.poll(heard).toEqual(['ToyCoder answered: At once.'])
  })

  test('answers that ended or came while the connection was lost are heard when it is back, older ones are not', async () => {
    const page = await on.visit()
    const thread = await on.begin(page)
    await on.web.conversation.post(thread, 'An old one.')
    const ref = await on.web.conversation.post(thread, 'begun', { live: true })
    await page.locator('.messages').getByText('begun').waitFor()
    const heard = await on.listen(page)
    await on.away(page, async ({ conversation, platform }) => {
      await conversation.edit(thread, ref, 'Ended.')
      await platform.post(thread, { markdown: 'A new one.', kind: 'answer' }, { key: 'new' })
    })
    await expect.poll(heard, { timeout: 12_000 }).toEqual(['ToyCoder answered: Ended. ToyCoder answered: A new one.'])
  })

  test('opening a thread says nothing of what stands in it', async () => {
    const page = await on.visit()
    const thread = await on.begin(page)
    await on.web.conversation.post(thread, 'Long ago.')
    await page.getByRole('link', { name: 'New thread' }).click()
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    const heard = await on.listen(page)
    await page.getByRole('navigation', { name: 'Threads' }).getByRole('link', { name: 'hello' }).click()
    await page.locator('.messages').getByText('Long ago.').waitFor()
    await on.web.conversation.post(thread, 'Just now.')
    await expect.poll(heard).toEqual(['ToyCoder answered: Just now.'])
  })
  test('words for this person alone are heard with their buttons, also while the drawer covers where they stand', async () => {
    const page = await on.visit('/console', { viewport: { width: 360, height: 640 } })
    const thread = await on.begin(page)
    const heard = await on.listen(page)
    await page.getByRole('button', { name: 'Show threads' }).click()
    const buttons = [{ action: 'denyall', label: 'Deny all', style: 'danger' as const, value: '7' }]
    await on.web.platform.whisper(thread, 'local', 'It **waits**.', { buttons })
    await expect
      .poll(async () => (await heard()).map((text) => text.split(/\s+/)))
      .toEqual([['It', 'waits.', 'Deny', 'all']])
  })
})
