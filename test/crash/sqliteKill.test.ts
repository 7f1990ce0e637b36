import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, expect, it } from 'vitest'
import { openStore } from '../../src/session/openStore.ts'
import { createThreadStore } from '../../src/session/threadStore.ts'

const folder = mkdtempSync(join(tmpdir(), 'toycoder-kill-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Appends to one thread for ever, and says the number of each record once its append was reported as done. */
const CHILD = join(import.meta.dirname, '..', 'doubles', 'store', 'appendForever.ts')

it('kill -9: every append that was reported is there afterwards, whole, without a gap, and the thread goes on', async () => {
  const url = `sqlite:${join(folder, 'store.sqlite')}`
  let known = 0
  for (const killAfter of [1, 40, 300, 17, 150]) {
    const child = spawn(process.execPath, [CHILD, url], { stdio: ['ignore', 'pipe', 'inherit'] })
    let reported = known - 1
    await new Promise<void>((resolve) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        reported = Math.max(reported, Number(line))
        if (reported >= known + killAfter) child.kill('SIGKILL')
      })
      child.once('close', () => resolve())
    })
    expect(child.signalCode).toBe('SIGKILL')

    const store = await openStore(url)
    const threads = createThreadStore(store)
    const { nextSeq } = await threads.open('console:local:kill')
    // The last append may have been done without having been reported; nothing reported may be missing.
    expect(nextSeq).toBeGreaterThanOrEqual(reported + 1)
    let seq = 0
    for await (const numbered of threads.all('console:local:kill')) {
      expect(numbered).toMatchObject({ seq, record: { message: { content: `record ${seq} ${'x'.repeat(2_000)}` } } })
      seq++
    }
    expect(seq).toBe(nextSeq)
    known = nextSeq
    await store.close()
  }
})
