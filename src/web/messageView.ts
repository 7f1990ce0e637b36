import { renderHtml } from '../render/html.ts'
import type { ConsoleButton, ConsoleMessage, ConsoleWhisper } from '../shared/consoleView.ts'

/** A message as the page shows it: Markdown has become HTML that is safe by construction. */
export interface MessageView extends Omit<ConsoleMessage, 'markdown'> {
  html: string
  /** For activity: the one line that always shows; `html` holds what unfolds below it. */
  summary?: string
  /** What people typed is shown as typed; of answers it is what "Copy" copies. Not sent along with live frames. */
  text?: string
}

/** Messages are never changed, so that all pages that look at one share the work; what nobody holds any more is forgotten. */
const views = new WeakMap<ConsoleMessage, MessageView>()

export function viewOf(message: ConsoleMessage): MessageView {
  const view = views.get(message) ?? render(message)
  views.set(message, view)
  return view
}

function render(message: ConsoleMessage): MessageView {
  const { markdown, ...rest } = message
  if (message.kind === 'person') return { ...rest, html: '', text: markdown }
  if (message.kind === 'activity') {
    const [, summary = '', details = ''] = /^\s*([^\n]*)\n?([\s\S]*)$/.exec(markdown) ?? []
    return { ...rest, summary: inline(renderHtml(summary)), html: prose(details) }
  }
  const copy = message.live ? {} : { text: markdown }
  return { ...rest, html: prose(markdown), ...copy }
}

export interface WhisperView {
  id: string
  html: string
  buttons: ConsoleButton[]
}

export function whisperView({ markdown, ...rest }: ConsoleWhisper): WhisperView {
  return { ...rest, html: prose(markdown) }
}

/** An answer for one person with its words as HTML, too. */
export function answerView<A extends { text?: string }>(answer: A): A & { html?: string } {
  return answer.text ? { ...answer, html: prose(answer.text) } : answer
}

/**
 * Headings stand one level lower than in the text: the page's own, the thread's title, is the first. Boxes are signs,
 * because nobody can tick them here and a field would need a name.
 */
function prose(markdown: string): string {
  return renderHtml(markdown)
    .replace(/<(\/?)h([1-5])>/g, (_, slash, level) => `<${slash}h${Number(level) + 1}>`)
    .replace(/<input type="checkbox" disabled( checked)?>/g, (_, checked) => (checked ? '☑' : '☐'))
}

/** One line as a paragraph's content: it stands inside a `summary`, where blocks have no place. */
function inline(html: string): string {
  return html.trim().replace(/^<p>([\s\S]*)<\/p>$/, '$1')
}
