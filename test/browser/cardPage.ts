import type { BrowserContextOptions, Page } from 'playwright-core'
import type { ClickAnswer } from '../../src/platform/platform.ts'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import { BUTTONS, CARD, DENY, EDIT, SETTLED } from './cardSamples.ts'
import { useConsolePages } from './pages.ts'

/** One page with a thread of its own, in which a test's cards come. Nothing may break in it. */
export function useCardPage() {
  const pages = useConsolePages()
  let heardOn: () => Promise<string[]>
  const at = {
    page: undefined as unknown as Page,
    thread: undefined as unknown as ThreadRef,
    get web() {
      return pages.web
    },
    async visit(options: BrowserContextOptions = {}): Promise<void> {
      at.page = await pages.visit('/console', options)
      at.thread = await pages.begin(at.page, 'please change it')
      heardOn = await pages.listen(at.page)
    },
    post: (markdown = CARD, buttons = BUTTONS) =>
      pages.web.conversation.post(at.thread, markdown, { kind: 'card', buttons }),
    settle: (ref: MessageRef, markdown = SETTLED) =>
      pages.web.conversation.edit(at.thread, ref, markdown, { kind: 'card' }),
    card: () => at.page.getByRole('region', { name: /^Waiting for a decision: May I run edit_file\?$/ }),
    inCard: (text: string) => at.page.locator('.card').getByText(text),
    whispered: (text: string) => at.page.locator('.whispers').getByText(text),
    field: (name: string) => at.page.getByRole('dialog').getByRole('textbox', { name }),
    button: (name: string) => at.page.getByRole('button', { name }),
    heard: () => heardOn(),
    focused: () =>
      at.page.evaluate<string>(`{
        const one = document.activeElement
        one.getAttribute('aria-label') || one.id || one.textContent.trim() || one.localName
      }`),
    async tabTo(wanted: string, key = 'Shift+Tab'): Promise<void> {
      for (let presses = 0; presses < 30; presses++) {
        if ((await at.focused()) === wanted) return
        await at.page.keyboard.press(key)
      }
      throw new Error(`the keyboard does not reach ${wanted}`)
    },
    /** The real conversation's answers: dialogs for Edit and Deny, a decision at once for the others, settled in place. */
    decide(
      ref: MessageRef,
      answers: Partial<Record<string, ClickAnswer>> = { edit: { dialog: EDIT }, deny: { dialog: DENY } },
    ) {
      pages.web.conversation.onClick(async ({ action }) => {
        const answer = answers[action]
        if (!answer) await at.settle(ref)
        return answer ?? {}
      })
    },
  }
  return at
}
