import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { MessageRef, ThreadRef } from '../../src/shared/thread.ts'
import { noBrowser, startConsole } from './console.ts'
import { objectionsTo, overflowOf } from './objections.ts'
import { useConsolePages } from './pages.ts'

const STOP = { action: 'stop', label: 'Stop', style: 'danger' as const, value: 'run-1' }

if (noBrowser) console.warn(`The console is not tested in a browser: ${noBrowser}`)

describe.skipIf(noBrowser)('the console in a browser', () => {
  const on = useConsolePages()
  const { visit, begin, say } = on
  const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' })
  const inThread = (page: Page, text: string) => page.locator('.messages').getByText(text)
  const whispered = (page: Page, text: string) => page.locator('.whispers').getByText(text)
  const answers = (page: Page) => page.locator('.answer .prose')

  const live = (thread: ThreadRef, text: string): Promise<MessageRef> =>
    on.web.conversation.post(thread, text, { live: true, buttons: [STOP] })

  test('an empty console says what one can do, and an example fills the field', async () => {
    const page = await visit()
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    await page.getByRole('button', { name: '/plan Add a test' }).click()
    expect(await composer(page).inputValue()).toBe('/plan Add a test for the parts that have none')
    expect(await page.getByRole('button', { name: 'Plan', exact: true }).getAttribute('aria-pressed')).toBe('true')
  })

  test('a message begins a thread with a title, an address and what was typed', async () => {
    const page = await visit()
    const thread = await begin(page, 'What is <b>here</b>?\nsecond line')
    expect(new URL(page.url()).pathname).toBe(`/console/t/${thread.id}`)
    await page.getByRole('heading', { level: 1, name: 'What is <b>here</b>?' }).waitFor()
    await page
      .getByRole('navigation', { name: 'Threads' })
      .getByRole('link', { name: 'What is <b>here</b>?' })
      .waitFor()
    await page.waitForSelector('.person')
    expect(await page.locator('.person .bubble').allInnerTexts()).toEqual(['What is <b>here</b>?\nsecond line'])
    expect(on.web.conversation.messages).toMatchObject([{ text: 'What is <b>here</b>?\nsecond line' }])
    expect(await composer(page).inputValue()).toBe('')
  })

  test('an answer grows without reload and ends as its final text, with its small print', async () => {
    const page = await visit()
    const thread = await begin(page)
    const ref = await live(thread, 'The answer')
    await page.getByText('The answer', { exact: true }).waitFor()
    for (const text of ['The answer is', 'The answer is **forty', 'The answer is **forty-two**']) {
      await on.web.conversation.edit(thread, ref, text, { live: true, buttons: [STOP] })
      const words = text.replaceAll('*', '').split(' ').at(-1)!
      await expect.poll(() => answers(page).textContent()).toContain(words)
    }
    await on.web.conversation.edit(thread, ref, 'The answer is **42**.', { footer: 'gpt-5 · 1.2 s' })
    await page.getByText('gpt-5 · 1.2 s').waitFor()
    expect(await answers(page).textContent()).toBe('The answer is 42.')
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0)
  })

  test('tool activity is a row that runs and then unfolds to its result', async () => {
    const page = await visit()
    const thread = await begin(page)
    const post = (markdown: string, more: object) =>
      on.web.conversation.post(thread, markdown, { kind: 'activity', ...more })
    const ref = await post('`read_file` README.md …', { state: 'running' })
    const row = page.locator('.activity').first()
    await expect.poll(() => row.locator('summary').textContent()).toContain('running')
    await on.web.conversation.edit(thread, ref, '`read_file` README.md\n\n```\n# Sample\n```', { kind: 'activity' })
    await expect.poll(() => row.locator('summary').textContent()).toContain('done')
    expect(await row.getByText('# Sample').isVisible()).toBe(false)
    await row.locator('summary').click()
    expect(await row.getByText('# Sample').isVisible()).toBe(true)
    await post('`grep_search` (: failed', { state: 'failed' })
    await expect.poll(() => page.locator('.activity').nth(1).locator('summary').textContent()).toContain('failed')
  })

  test('the Plan button and /plan are the same command', async () => {
    const page = await visit()
    await composer(page).fill('add a test')
    await page.getByRole('button', { name: 'Plan', exact: true }).click()
    await composer(page).press('Enter')
    await expect.poll(() => on.web.conversation.commands).toMatchObject([{ name: 'plan', text: 'add a test' }])
    await page.waitForURL(/\/console\/t\//)
    await page.getByRole('heading', { level: 1, name: 'add a test' }).waitFor()
    await page.getByRole('link', { name: 'New thread' }).click()
    await say(page, '/plan two')
    await expect.poll(() => on.web.conversation.commands.length).toBe(2)
    expect(on.web.conversation.messages).toEqual([])
  })

  test('Shift+Enter begins a new line, and an unfinished text waits in its thread', async () => {
    const page = await visit()
    await begin(page)
    await composer(page).pressSequentially('one')
    await composer(page).press('Shift+Enter')
    await composer(page).pressSequentially('two')
    await page.getByRole('link', { name: 'New thread' }).click()
    expect(await composer(page).inputValue()).toBe('')
    await page.goBack()
    await expect.poll(() => composer(page).inputValue()).toBe('one\ntwo')
    expect(on.web.conversation.messages).toHaveLength(1)
  })

  test('the Stop button reaches the bot, and what it says comes to this person alone', async () => {
    const page = await visit()
    const other = await visit()
    const thread = await begin(page)
    await other.goto(page.url())
    await live(thread, 'a long answer')
    await page.getByRole('button', { name: 'Stop' }).click()
    await whispered(page, 'You pressed stop.').waitFor()
    expect(on.web.conversation.clicks).toMatchObject([{ action: 'stop', value: 'run-1', thread: { id: thread.id } }])
    expect(await whispered(other, 'You pressed stop.').count()).toBe(0)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    expect(await whispered(page, 'You pressed stop.').count()).toBe(0)
  })

  test('a reload and a restart of the program keep everything', async () => {
    const page = await visit()
    const thread = await begin(page)
    await on.web.conversation.post(thread, 'An answer that stays.')
    await on.web.platform.upload(thread, { name: 'notes.md', content: '# Notes' }, { key: 'f' })
    await page.getByText('notes.md').waitFor()
    await page.reload()
    await inThread(page, 'An answer that stays.').waitFor()
    const { port, storage } = on.web
    await on.web.stop()
    on.web = await startConsole({ port, storage })
    await page.reload()
    await inThread(page, 'An answer that stays.').waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('notes.md').click()])
    expect(download.suggestedFilename()).toBe('notes.md')
  })

  test('two tabs see the same', async () => {
    const one = await visit()
    const two = await visit()
    const thread = await begin(one, 'from the first tab')
    await two.getByRole('link', { name: 'from the first tab' }).click()
    await two.waitForSelector('.person')
    await say(two, 'from the second tab')
    await one.getByText('from the second tab').waitFor()
    const ref = await live(thread, 'growing')
    await on.web.conversation.edit(thread, ref, 'grown in both')
    for (const page of [one, two]) await inThread(page, 'grown in both').waitFor()
    expect(await one.locator('.messages').textContent()).toBe(await two.locator('.messages').textContent())
  })

  test('everything can be done by the keyboard alone', async () => {
    const page = await visit()
    await page.keyboard.type('by keyboard')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/console\/t\//)
    await expect.poll(() => on.web.conversation.messages.length).toBe(1)
    const { thread } = on.web.conversation.messages[0]!
    await on.web.conversation.post(thread, '`read_file` x\n\n```\nresult of x\n```', { kind: 'activity' })
    await live(thread, 'working')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    const focused = () =>
      page.evaluate<string>(`{
        const { id, localName, textContent } = document.activeElement
        id || (/^(a|button|summary)$/.test(localName) ? textContent.trim() : localName)
      }`)
    async function tabTo(wanted: string, key = 'Tab'): Promise<void> {
      for (let presses = 0; presses < 30; presses++) {
        if ((await focused()).includes(wanted)) return
        await page.keyboard.press(key)
      }
      throw new Error(`the keyboard does not reach ${wanted}`)
    }
    await tabTo('Stop', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await whispered(page, 'You pressed stop.').waitFor()
    await tabTo('read_file', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByText('result of x').waitFor()
    await tabTo('by keyboard', 'Shift+Tab')
    await tabTo('new-thread', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
    expect(await focused()).toBe('composer-text')
    await tabTo('Skip to the message field', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await expect.poll(focused).toBe('composer-text')
  })

  test('at 360 pixels nothing scrolls sideways and the threads are a drawer', async () => {
    const page = await visit('/console', { viewport: { width: 360, height: 640 } })
    const thread = await begin(
      page,
      'a narrow place with_a_very_long_word_that_has_no_room_here_and_goes_on_and_on_and_on',
    )
    const table = `| ${'wide | '.repeat(20)}\n| ${'--- | '.repeat(20)}\n| ${'cell | '.repeat(20)}`
    await on.web.conversation.post(thread, `${'x'.repeat(300)}\n\n\`\`\`\n${'code '.repeat(80)}\n\`\`\`\n\n${table}`)
    await on.web.conversation.post(thread, `\`run\` ${'y'.repeat(200)}`, { kind: 'activity' })
    await page.locator('.activity').waitFor()
    expect(await overflowOf(page)).toEqual([0, 0])
    const threads = page.getByRole('navigation', { name: 'Threads' })
    expect(await threads.isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Show threads' }).click()
    await threads.waitFor()
    expect(await overflowOf(page)).toEqual([0, 0])
    await page.keyboard.press('Escape')
    await threads.waitFor({ state: 'hidden' })
    expect(await page.evaluate('document.activeElement.id')).toBe('open-drawer')
    await page.getByRole('button', { name: 'Show threads' }).click()
    await page.getByRole('link', { name: 'New thread' }).click()
    await page.getByRole('heading', { name: 'What shall we work on?' }).waitFor()
  })

  test.each([
    ['wide and light', { colorScheme: 'light' as const, viewport: { width: 1280, height: 800 } }],
    ['narrow and dark', { colorScheme: 'dark' as const, viewport: { width: 360, height: 720 } }],
  ])('axe finds nothing to object to, %s', async (_, options) => {
    const page = await visit('/console', { ...options, bypassCSP: true })
    expect(await objectionsTo(page)).toEqual([])
    const thread = await begin(page)
    await on.web.conversation.post(
      thread,
      '# A heading\n\n- a [link](https://example.com)\n- [x] done\n\n```js\nlet x = 1\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |',
      { footer: 'gpt-5' },
    )
    await on.web.conversation.post(thread, '`read_file` x\n\n```\nresult\n```', { kind: 'activity' })
    await on.web.conversation.post(thread, 'A notice.', { kind: 'notice' })
    await on.web.platform.upload(thread, { name: 'a.md', content: 'x' }, { key: 'f' })
    await on.web.platform.status(thread, 'is working on it')
    await page.getByText('is working on it').waitFor()
    await live(thread, 'growing')
    await page.getByText('is working on it').waitFor({ state: 'hidden' })
    await on.web.platform.whisper(thread, 'local', 'Only for you.')
    await whispered(page, 'Only for you.').waitFor()
    await page.locator('.activity summary').click()
    expect(await objectionsTo(page)).toEqual([])
  })

  test('what models and people write can run nothing and load nothing', async () => {
    const page = await visit()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    const evil =
      '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script> [x](javascript:window.pwned=1) ![i](https://evil.example/i.png)'
    const thread = await begin(page, evil)
    await on.web.conversation.post(thread, evil)
    await on.web.conversation.post(thread, evil, { kind: 'activity' })
    await on.web.platform.whisper(thread, 'local', `${evil} the very end`)
    await whispered(page, 'the very end').waitFor()
    expect(await page.evaluate(`'pwned' in window`)).toBe(false)
    expect(await page.locator('[href^="javascript:" i], .messages img, .messages script, [onerror]').count()).toBe(0)
    expect(requests.filter((url) => !url.startsWith(on.web.url))).toEqual([])
  })

  test('a thread that does not exist is said to be none', async () => {
    const page = await visit('/console/t/nowhere')
    await page.getByText('This thread does not exist.').waitFor()
  })

  test('long threads show their end first and the rest on demand', async () => {
    const page = await visit()
    const thread = await begin(page)
    await page.goto('about:blank')
    for (let n = 1; n <= 130; n++) await on.web.conversation.post(thread, `note ${n}.`)
    await page.goto(`${on.web.url}/console/t/${thread.id}`)
    await page.getByText('note 130.', { exact: true }).waitFor()
    expect(await page.getByText('note 20.', { exact: true }).count()).toBe(0)
    const last = await page.getByText('note 130.', { exact: true }).boundingBox()
    expect(last!.y + last!.height).toBeLessThan(page.viewportSize()!.height)
    await page.getByRole('button', { name: 'Show earlier messages' }).click()
    await page.getByText('note 20.', { exact: true }).waitFor()
    const texts = await answers(page).allInnerTexts()
    expect(texts).toEqual(Array.from({ length: 130 }, (_, index) => `note ${index + 1}.`))
    expect(await page.getByRole('button', { name: 'Show earlier messages' }).isVisible()).toBe(false)
  })

  test('a permalink leads to its message, however far up it stands', async () => {
    const page = await visit()
    const thread = await begin(page)
    await page.goto('about:blank')
    const refs: MessageRef[] = []
    for (let n = 1; n <= 220; n++) refs.push(await on.web.conversation.post(thread, `note ${n}.`))
    await page.goto((await on.web.platform.permalink(thread, refs[4]!))!)
    const linked = page.locator('.linked')
    await linked.waitFor()
    expect(await linked.getByText('note 5.').isVisible()).toBe(true)
    const box = await linked.boundingBox()
    expect(box!.y).toBeGreaterThan(0)
    expect(box!.y).toBeLessThan(page.viewportSize()!.height)
  })

  test('beyond this machine the printed link signs in, and nothing is shown before', async () => {
    await on.web.stop()
    const token = 'a-token-of-more-than-20-characters'
    on.web = await startConsole({ host: '0.0.0.0', token })
    const page = await on.blank()
    await page.goto(`${on.web.url}/console`)
    await page.waitForURL(/sign-in$/)
    await page.getByLabel('Token').fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('That token is not the right one.').waitFor()
    await page.goto('about:blank')
    await page.goto(on.web.consoleLink!)
    await page.waitForURL(/\/console$/)
    await page.waitForSelector('[data-state="connected"]')
    await page.goBack().catch(() => {})
    expect(page.url()).not.toContain(token)
    // A restart with the same token keeps the session.
    const { port, storage } = on.web
    await on.web.stop()
    on.web = await startConsole({ host: '0.0.0.0', token, port, storage })
    await page.goto(`${on.web.url}/console`)
    await page.waitForSelector('[data-state="connected"]')
  })

  test('the page speaks Chinese where the browser does', async () => {
    const page = await visit('/console', { locale: 'zh-CN' })
    await page.getByRole('heading', { name: '我们来做点什么？' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN')
  })
})
