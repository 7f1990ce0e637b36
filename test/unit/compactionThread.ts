import type { NumberedRecord } from '../../src/session/thread.ts'
import type { Usage } from '../../src/shared/message.ts'
import type { MessageRecord, ThreadRecord } from '../../src/shared/record.ts'

/** A thread in memory, with what a run would append to it. */
export function createThread() {
  const records: NumberedRecord[] = []
  const thread = { key: 'console:local:t', records }
  const append = async (record: ThreadRecord) => records.push({ seq: records.length, record })
  const message = (message: MessageRecord['message'], more: Partial<MessageRecord> = {}) => {
    records.push({ seq: records.length, record: { v: 1, kind: 'message', at: 1, message, ...more } })
  }
  return {
    thread,
    records,
    append,
    says: (content: string, more: Partial<MessageRecord> = {}) =>
      message({ role: 'user', content }, { author: { id: 'U1', name: 'Ann' }, ...more }),
    answers: (content: string, usage?: Usage) => message({ role: 'assistant', content }, usage ? { usage } : {}),
    calls: (...ids: string[]) =>
      message({
        role: 'assistant',
        content: null,
        tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'read_file', arguments: '{}' } })),
      }),
    result: (id: string, content: string) => message({ role: 'tool', tool_call_id: id, content }),
    mark: (record: Record<string, unknown>) =>
      records.push({ seq: records.length, record: { v: 1, kind: 'mark', at: 1, ...record } as ThreadRecord }),
    marks: () => records.flatMap(({ record }) => (record.kind === 'mark' ? [record] : [])),
  }
}

/** A text of about so many tokens by the estimate. */
export const words = (tokens: number) => 'abc '.repeat(tokens)
