import type { ChatResponse } from '../client/baseClient.ts'
import type { Wording } from '../shared/wording/wording.ts'

/**
 * What stands below a text that the output limit or the provider cut off, so that nobody takes half of an answer for the
 * whole; empty for one that came to its end.
 */
export function unfinishedNote({ content, finish }: ChatResponse, wording: Wording): string {
  if (finish !== 'length' && finish !== 'filtered') return ''
  const fence = openFence(content)
  const note = finish === 'length' ? wording.answerCut : wording.answerFiltered
  return `${fence && `\n${fence}`}\n\n${note}`
}

/** The fence of the code block that a text ends in; inside of it nobody would read the note as one. */
function openFence(text: string): string {
  let open = ''
  for (const line of text.split('\n')) {
    const [, fence = '', behind = ''] = /^[ \t>]*(`{3,}|~{3,})(.*)$/.exec(line) ?? []
    if (open === '') open = fence
    else if (fence.startsWith(open) && behind.trim() === '') open = ''
  }
  return open
}
