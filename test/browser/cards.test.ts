import { describe, expect, test } from 'vitest'
import type { Button } from '../../src/platform/platform.ts'
import { useCardPage } from './cardPage.ts'
import { ASKS, BUTTONS, CARD, DIFF, VALUE } from './cardSamples.ts'
import { noBrowser } from './console.ts'
import { objectionsTo, overflowOf } from './objections.ts'

interface Box {
  scrollTop: number
  scrollWidth: number
  clientWidth: number
}
const scrollTop = (box: Box) => box.scrollTop

describe.skipIf(noBrowser)('cards in a browser', () => {
  const at = useCardPage()
  const { visit, post, settle, card, inCard, whispered, button, heard, focused, tabTo, decide } = at

  test('a card is a named region with the whole diff in a block that scrolls by keyboard, signs and all', async () => {
    await visit()
    await post()
    await card().waitFor()
    const block = card().getByRole('group', { name: 'Changes, line by line' })
    expect(await block.locator('code').textContent()).toBe(`${DIFF}\n`)
    expect(await block.locator('ins').allTextContents()).toEqual(['+new line\n', '+++ pluses\n'])
    expect(await block.locator('del').allTextContents()).toEqual(['-old <b>line</b>\n', '--- dashes\n'])
    await tabTo('Changes, line by line')
    await at.page.keyboard.press('End')
    await at.page.keyboard.press('ArrowDown')
    await expect.poll(() => block.evaluate(scrollTop)).toBeGreaterThan(0)
    expect(await block.evaluate((pre: Box) => pre.scrollWidth > pre.clientWidth)).toBe(true)
  })

  test('a card is read out once when it comes, and how it was settled once', async () => {
    await visit()
    const ref = await post('**May I run `edit_file`?**')
    await expect.poll(heard).toEqual(['Waiting for a decision: May I run edit_file?'])
    // A further vote, a reaction and a new connection say nothing new.
    await at.web.conversation.edit(at.thread, ref, '**May I run `edit_file`?**\n\nOne of two agreed.', {
      kind: 'card',
      buttons: BUTTONS,
    })
    await inCard('One of two agreed.').waitFor()
    await at.web.platform.react(at.thread, ref, 'waiting')
    await settle(ref, '**May I run `edit_file`?**\n\n✅ Approved by Dana')
    await expect.poll(heard).toEqual(['Waiting for a decision: May I run edit_file?', 'Decided: ✅ Approved by Dana'])
    expect(await at.page.locator('#announcer').getAttribute('aria-live')).toBe('polite')
  })

  test('a question that asks for words is read out as it is, and is not said to be decided', async () => {
    await visit()
    await post('**A question:**\n\nTabs or spaces?\n\nAnswer with a message in this thread.', [])
    await at.page
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
    expect(await at.page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
    await at.page.keyboard.press('Enter')
    await inCard('Approved by Dana').waitFor()
    await expect.poll(focused).toBe('May I run edit_file? ✅ Approved by Dana, 2026-12-02 10:00 UTC')
    expect(await button('Approve').count()).toBe(0)
    expect(await at.page.locator('.card').count()).toBe(1)
    expect(at.web.conversation.clicks).toMatchObject([{ action: 'approve', value: VALUE, ref: { id: ref.id } }])
  })

  test('a decision of somebody else takes neither the place in the diff nor the focus', async () => {
    await visit()
    const ref = await post()
    await card().waitFor()
    await tabTo('Changes, line by line')
    const top = () => at.page.locator('.card pre').evaluate(scrollTop)
    await at.page.locator('.card pre').evaluate((pre: Box) => {
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
    await at.web.conversation.edit(at.thread, ref, `${CARD} Again.`, { kind: 'card', buttons: next })
    await inCard('Again.').waitFor()
    expect(await focused()).toBe('Approve')
    await at.page.keyboard.press('Enter')
    await expect.poll(() => at.web.conversation.clicks.map(({ value }) => value)).toEqual(['c12.0/2'])
  })

  test('a press that does not get through is said, and can be pressed again', async () => {
    await visit()
    const ref = await post()
    at.web.conversation.onClick(async () => {
      throw new Error('the store is away')
    })
    await button('Approve').click()
    await whispered('That did not get through.').waitFor()
    decide(ref)
    await button('Approve').click()
    await inCard('Approved by Dana').waitFor()
  })

  test('words for one person have their buttons, and go when these have done their work', async () => {
    await visit()
    const buttons: Button[] = [
      { action: 'denyall', label: 'Deny all and use this message', style: 'danger', value: '7' },
    ]
    await at.web.platform.whisper(at.thread, 'local', 'It waits for a **decision**.', { buttons })
    at.web.conversation.onClick(async () => ({}))
    await whispered('It waits for a decision.').waitFor()
    await tabTo('Deny all and use this message')
    await at.page.keyboard.press('Enter')
    await whispered('It waits for a decision.').waitFor({ state: 'detached' })
    expect(await focused()).toBe('composer-text')
    expect(at.web.conversation.clicks).toMatchObject([{ action: 'denyall', value: '7', thread: { id: at.thread.id } }])
  })

  test('a thread that waits says so in the list and in the title of the page, until it is decided', async () => {
    await visit()
    const ref = await post()
    const link = at.page.getByRole('navigation', { name: 'Threads' }).getByRole('link', { name: 'please change it' })
    await link.getByText('Waiting for you').waitFor()
    expect(await at.page.title()).toBe('Waiting for you (1) · please change it · ToyCoder')
    await at.page.getByRole('link', { name: 'New thread' }).click()
    await expect.poll(() => at.page.title()).toBe('Waiting for you (1) · ToyCoder')
    await at.page.reload()
    await expect.poll(() => at.page.title()).toBe('Waiting for you (1) · ToyCoder')
    await settle(ref)
    await expect.poll(() => at.page.title()).toBe('ToyCoder')
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
    await at.web.platform.whisper(at.thread, 'local', 'Only for you.', { buttons: BUTTONS.slice(3) })
    await card().waitFor()
    await whispered('Only for you.').waitFor()
    expect(await objectionsTo(at.page)).toEqual([])
    expect(await overflowOf(at.page)).toEqual([0, 0])
    at.web.conversation.onSubmit(async () => ({ errors: { timeout_s: 'This is no JSON.' } }))
    await card().getByRole('button', { name: 'Edit…' }).click()
    await button('Submit').click()
    await at.page.getByText('This is no JSON.').waitFor()
    expect(await objectionsTo(at.page)).toEqual([])
    expect(await overflowOf(at.page)).toEqual([0, 0, 0])
  })
})
