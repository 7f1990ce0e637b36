import { describe, expect, test } from 'vitest'
import { useCardPage } from './cardPage.ts'
import { ASKS, EDIT, VALUE } from './cardSamples.ts'
import { noBrowser } from './console.ts'

describe.skipIf(noBrowser)('dialogs in a browser', () => {
  const at = useCardPage()
  const { visit, post, settle, card, inCard, whispered, field, button, heard, focused, tabTo, decide } = at

  test('Deny with a reason, by keyboard alone', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    at.web.conversation.onSubmit(async () => {
      await settle(ref, `${ASKS}\n\n⛔ Denied by Dana`)
      return {}
    })
    await card().waitFor()
    await tabTo('Deny…')
    await at.page.keyboard.press('Space')
    const dialog = at.page.getByRole('dialog', { name: 'Deny this call' })
    await dialog.waitFor()
    expect(await at.page.evaluate('document.activeElement.localName')).toBe('textarea')
    await at.page.keyboard.type('Not on a Friday.')
    await at.page.keyboard.press('Enter')
    await at.page.keyboard.type('Ask me on Monday.')
    await tabTo('Submit', 'Tab')
    await at.page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await inCard('Denied by Dana').waitFor()
    await expect.poll(focused).toBe('May I run edit_file? ⛔ Denied by Dana')
    expect(at.web.conversation.submissions).toMatchObject([
      {
        action: 'deny',
        value: VALUE,
        thread: { id: at.thread.id },
        fields: { reason: 'Not on a Friday.\nAsk me on Monday.' },
      },
    ])
  })

  test('Edit by keyboard alone: what is wrong stands at its field, and what is sent is what was typed', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    at.web.conversation.onSubmit(async () =>
      at.web.conversation.submissions.length === 1
        ? { errors: { timeout_s: 'This is no JSON.', nowhere: 'And this.' } }
        : { text: 'A **new** card comes.' },
    )
    await card().waitFor()
    await tabTo('Edit…')
    await at.page.keyboard.press('Enter')
    const dialog = at.page.getByRole('dialog', { name: 'Edit run_command' })
    await dialog.waitFor()
    const command = field('command')
    expect(await command.inputValue()).toBe('npm test\n\techo $&')
    expect(await at.page.evaluate('getComputedStyle(document.activeElement).fontFamily')).toMatch(/mono/i)
    await at.page.keyboard.press('Control+End')
    await at.page.keyboard.type(' done  ')
    await at.page.keyboard.press('Tab')
    await at.page.keyboard.type('soon')
    await tabTo('Submit', 'Tab')
    await at.page.keyboard.press('Enter')
    await dialog.getByText('This is no JSON.').waitFor()
    await dialog.getByText('And this.').waitFor()
    const wrong = field('timeout_s')
    expect(await wrong.getAttribute('aria-invalid')).toBe('true')
    const described = await wrong.getAttribute('aria-describedby')
    expect(await at.page.locator(`#${described}`).textContent()).toBe('This is no JSON.')
    expect(await at.page.evaluate('document.activeElement.id')).toBe(await wrong.getAttribute('id'))
    await at.page.keyboard.press('Control+A')
    await at.page.keyboard.type('60')
    await at.page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await at.page.locator('.whisper strong', { hasText: 'new' }).waitFor()
    const [first, second] = at.web.conversation.submissions
    expect(second!.fields).toEqual({ command: 'npm test\n\techo $& done  ', timeout_s: '60' })
    expect(second!.id).not.toBe(first!.id)
    expect(await focused()).toBe('Edit…')
  })

  test('Escape closes a dialog and gives the focus back; within it the keyboard goes in a circle', async () => {
    await visit()
    decide(await post())
    await card().waitFor()
    await tabTo('Edit…')
    await at.page.keyboard.press('Enter')
    const dialog = at.page.getByRole('dialog')
    await dialog.waitFor()
    for (let n = 0; n < 8; n++) {
      await at.page.keyboard.press('Tab')
      const where = `document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)`
      expect(await at.page.evaluate(where)).toBe(true)
    }
    await at.page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await focused()).toBe('Edit…')
    expect(at.web.conversation.submissions).toEqual([])
  })

  test('an empty field that has to be filled is told before anything is sent', async () => {
    await visit()
    decide(await post())
    await button('Edit…').click()
    await field('command').fill('')
    await button('Submit').click()
    await at.page.getByText('This field can’t be empty.').waitFor()
    expect(await at.page.evaluate('document.activeElement.localName')).toBe('textarea')
    expect(at.web.conversation.submissions).toEqual([])
  })

  test('when sending fails the text is kept, and the same is sent again by the same id', async () => {
    await visit()
    decide(await post())
    await button('Edit…').click()
    await field('command').fill('typed with care')
    const ids: string[] = []
    await at.page.route('**/api/dialog', async (route) => {
      ids.push(route.request().postDataJSON().id)
      if (ids.length > 2) return route.continue()
      // The first gets there and its answer is lost, the second gets nowhere.
      if (ids.length === 1) await route.fetch()
      await route.abort()
    })
    for (const times of [1, 2]) {
      await button('Submit').click()
      await at.page.getByText('Your text is kept').waitFor()
      expect(ids).toHaveLength(times)
      expect(await field('command').inputValue()).toBe('typed with care')
    }
    await button('Submit').click()
    await at.page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(new Set(ids).size).toBe(1)
    expect(at.web.conversation.submissions).toMatchObject([{ fields: { command: 'typed with care' } }])
  })

  test('a megabyte of arguments opens, is changed and arrives whole', async () => {
    await visit()
    // The browser itself lays out a megabyte for seconds, on a busy machine for many.
    at.page.setDefaultTimeout(40_000)
    const value = 'const x = 1 // 例\n'.repeat(60_000).slice(0, 999_990)
    const fields = [{ ...EDIT.fields[0]!, value }]
    decide(await post(), { edit: { dialog: { ...EDIT, fields } } })
    await button('Edit…').click()
    await field('command').waitFor()
    await at.page.keyboard.press('Control+End')
    await at.page.keyboard.type('!')
    await at.page.keyboard.press('Control+Enter')
    await at.page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(at.web.conversation.submissions[0]!.fields.command === `${value}!`).toBe(true)
  })

  test('a dialog whose card is settled meanwhile gives the focus to the card', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    await button('Edit…').click()
    await at.page.getByRole('dialog').waitFor()
    await settle(ref)
    await button('Approve').waitFor({ state: 'detached' })
    await at.page.keyboard.press('Escape')
    await expect.poll(focused).toBe('May I run edit_file? ✅ Approved by Dana, 2026-12-02 10:00 UTC')
  })

  test('what is told while a dialog is open is read out when it closes, since the page behind it can’t be read', async () => {
    await visit()
    decide(await post())
    await card().waitFor()
    await expect.poll(heard).toHaveLength(1)
    await button('Edit…').click()
    await at.page.getByRole('dialog').waitFor()
    await at.web.conversation.post(at.thread, 'One.')
    await at.web.platform.whisper(at.thread, 'local', 'Only for you.')
    await whispered('Only for you.').waitFor()
    expect(await heard()).toHaveLength(1)
    await at.page.keyboard.press('Escape')
    await expect.poll(async () => (await heard())[1]).toBe('ToyCoder answered: One. Only for you.')
  })

  test('what is wrong with a dialog that was closed while it was sent is told all the same', async () => {
    await visit()
    decide(await post())
    let answer = () => {}
    const closed = new Promise<void>((resolve) => {
      answer = resolve
    })
    at.web.conversation.onSubmit(async () => {
      await closed
      return { errors: { timeout_s: 'This is no JSON.' } }
    })
    await button('Edit…').click()
    await field('command').fill('changed')
    await button('Submit').click()
    await expect.poll(() => at.web.conversation.submissions.length).toBe(1)
    await at.page.keyboard.press('Escape')
    await at.page.getByRole('dialog').waitFor({ state: 'detached' })
    answer()
    await whispered('This is no JSON.').waitFor()
  })

  test('a closed dialog whose content never got through is told, too, and why', async () => {
    await visit()
    decide(await post())
    let fail = () => {}
    const asked = new Promise<void>((resolve) => {
      fail = resolve
    })
    let arrived = false
    await at.page.route('**/api/dialog', async (route) => {
      arrived = true
      await asked
      await route.fulfill({ status: 404, json: { error: 'gone' } })
    })
    await button('Edit…').click()
    await button('Submit').click()
    await expect.poll(() => arrived).toBe(true)
    await at.page.keyboard.press('Escape')
    await at.page.getByRole('dialog').waitFor({ state: 'detached' })
    fail()
    await whispered('This thread does not exist.').waitFor()
  })

  test('a dialog whose card is deleted meanwhile gives the focus to the thread', async () => {
    await visit()
    const ref = await post()
    decide(ref)
    await button('Edit…').click()
    await at.page.getByRole('dialog').waitFor()
    await at.web.platform.remove(at.thread, ref)
    await at.page.locator('.card').waitFor({ state: 'detached' })
    await at.page.keyboard.press('Escape')
    await expect.poll(() => at.page.evaluate('document.activeElement.id')).toBe('main')
  })
})
