import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** What axe-core finds wrong with the page as it stands. The page needs `bypassCSP`: axe puts styles in. */
export async function objectionsTo(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'))
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
}

/** By how many pixels the page, its main part and an open dialog could be scrolled sideways. */
export function overflowOf(page: Page): Promise<number[]> {
  return page.evaluate(`[document.documentElement, document.querySelector('main'), document.querySelector('dialog')]
    .filter(Boolean).map((box) => box.scrollWidth - box.clientWidth)`)
}
