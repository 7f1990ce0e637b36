import { openStore } from '../../../src/session/openStore.ts'
import { createThreadStore } from '../../../src/session/threadStore.ts'

/** A process to be killed: appends to one thread until then, and prints each record's number once it is stored. */
const store = await openStore(process.argv[2]!)
const threads = createThreadStore(store)
const key = 'console:local:kill'
let { nextSeq } = await threads.open(key)
for (; ; nextSeq++) {
  const content = `record ${nextSeq} ${'x'.repeat(2_000)}`
  await threads.append(key, nextSeq, { v: 1, kind: 'message', at: nextSeq, message: { role: 'assistant', content } })
  process.stdout.write(`${nextSeq}\n`)
}
