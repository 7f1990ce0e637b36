/** A question to the people in the thread. */
export interface Question {
  /** Markdown. */
  text: string
  /** Answers to choose from; a reply in words is possible beside them. At most 20, each at most 75 characters. */
  options: readonly string[]
}

/** What became of a question so far. */
export type Answer = { kind: 'pending' } | { kind: 'answered'; by: string; text: string } | { kind: 'expired' }
