import type { Approver, Verdict } from '../../src/tool/approver.ts'

/** People who say of every call what `say` tells, and a claim that only the first asker of an attempt gets. */
export interface People extends Approver {
  readonly asked: { callKey: string; name: string; args: unknown }[]
  readonly begun: string[]
  readonly finished: string[]
}

export function people(say: (callKey: string) => Verdict | undefined): People {
  const asked: People['asked'] = []
  const begun: string[] = []
  const finished: string[] = []
  return {
    asked,
    begun,
    finished,
    async verdict(call) {
      asked.push(call)
      return say(call.callKey) ?? { kind: 'pending' }
    },
    async begin(callKey, attempt) {
      const claim = `${callKey}#${attempt}`
      if (begun.includes(claim)) return 'lost'
      begun.push(claim)
      return 'won'
    },
    confirm: async () => {},
    async finish(callKey, attempt) {
      finished.push(`${callKey}#${attempt}`)
      return 'won'
    },
    answer: async () => ({ kind: 'pending' }),
  }
}
