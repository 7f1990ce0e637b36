/**
 * Takes `<think>…</think>` out of a streamed answer, however the tags are cut over the pieces. Models without a reasoning
 * field open their answer with such blocks; a tag further down is the author's text (a page about HTML, say) and stays.
 * A closing tag at the very start is one whose opening tag stood in the prompt's template: it is taken out too.
 */
export interface ThinkFilter {
  /** The visible part of `piece`; text that may still turn out to be a tag is held back. */
  push(piece: string): { text: string; thought: string }
  /** What was held back when the answer ended. */
  end(): { text: string; thought: string }
}

const OPEN = /^\s*<(think|thinking)>/
const ORPHAN = /^\s*<\/(?:think|thinking)>\s*/
/** The start of an answer that may yet become one of the tags. */
const MAYBE_TAG = /^\s*(?:<(?:\/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?)?)?$/

export function createThinkFilter(): ThinkFilter {
  let state: 'start' | 'thinking' | 'text' = 'start'
  let held = ''
  let closing = ''
  let tagSeen = false

  function push(piece: string): { text: string; thought: string } {
    if (state === 'text') return { text: piece, thought: '' }
    held += piece
    let thought = ''
    while (true) {
      if (state === 'thinking') {
        const end = held.indexOf(closing)
        if (end < 0) {
          const safe = held.length - partialSuffix(held, closing)
          thought += held.slice(0, safe)
          held = held.slice(safe)
          return { text: '', thought }
        }
        thought += held.slice(0, end)
        held = held.slice(end + closing.length)
        state = 'start'
      }
      const open = OPEN.exec(held)
      const skip = open ?? ORPHAN.exec(held)
      if (!skip) break
      tagSeen = true
      held = held.slice(skip[0].length)
      if (open) {
        closing = `</${open[1]}>`
        state = 'thinking'
      }
    }
    if (MAYBE_TAG.test(held)) return { text: '', thought }
    state = 'text'
    return { text: release(), thought }
  }

  /** After a block the blank lines that set it off go with it; an answer without one is left as it is. */
  function release(): string {
    const text = tagSeen ? held.trimStart() : held
    held = ''
    return text
  }

  return {
    push,
    end: () => {
      if (state !== 'thinking') return { text: release(), thought: '' }
      const thought = held
      held = ''
      return { text: '', thought }
    },
  }
}

/** The length of the longest end of `text` that is a beginning of `word`. */
function partialSuffix(text: string, word: string): number {
  for (let length = Math.min(word.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(word.slice(0, length))) return length
  }
  return 0
}
