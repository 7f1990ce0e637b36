/**
 * What the console platform tells browsers and hears from them: types only, shared by `platform/console`, which keeps it,
 * and `web`, which carries it over HTTP. Neither may import the other.
 */

export interface ConsoleThread {
  /** Newer threads have smaller ids: ascending order is newest first. */
  id: string
  /** The first line of what began the thread, as plain text of at most 80 characters. */
  title: string
  /** Milliseconds since the epoch, as all times here. */
  createdAt: number
  /** When somebody last said something in it. */
  lastAt: number
  /** Ids of the messages in it that wait for a person: open cards, and what was asked and is held up by them. */
  waiting: string[]
}

export interface ConsoleMessage {
  /** Newer messages have smaller ids, as threads. */
  id: string
  /** Grows with every change of this message within one process; the larger one is the newer state. */
  rev: number
  at: number
  /** `person`: somebody at the console. The others are the bot's, as in `MessageBody`. */
  kind: 'person' | 'answer' | 'activity' | 'notice' | 'card'
  author: string
  markdown: string
  /** True for a preview that will be replaced. */
  live: boolean
  /** For `activity`: how the call stands. */
  state: 'running' | 'done' | 'failed'
  footer?: string
  buttons: ConsoleButton[]
  reaction: 'working' | 'waiting' | 'done' | 'failed' | null
  file?: { name: string; bytes: number }
  /** For what a person typed: the id of its submission, by which a page knows its own again. */
  submission?: string
}

export interface ConsoleButton {
  action: string
  label: string
  style: 'primary' | 'danger' | 'plain'
  value: string
}

/** Something that happened, for the browsers that look on. */
export type ConsoleChange =
  | { type: 'thread'; thread: ConsoleThread }
  | { type: 'message'; threadId: string; message: ConsoleMessage }
  | { type: 'removed'; threadId: string; messageId: string }
  /** What the bot is doing, or `null`. Fades by itself: whoever shows it takes it away at `until`. */
  | { type: 'status'; threadId: string; status: ConsoleStatus | null }
  | { type: 'whisper'; threadId: string | null; whisper: ConsoleWhisper }

/** Said to the person at the console alone, and kept for moments only. */
export interface ConsoleWhisper {
  /** Stands for a message's id where one of its buttons is pressed. */
  id: string
  markdown: string
  buttons: ConsoleButton[]
}

export interface ConsoleStatus {
  text: string
  until: number
}

/** What somebody typed. */
export interface ConsoleSubmission {
  /** Made by the browser, one for each thing typed: the same id never starts two runs, however often it is sent. */
  id: string
  /** `null` begins a thread. */
  threadId: string | null
  /** `/plan TASK` and `/toycoder …` are commands, everything else is a message. */
  text: string
}

export type SubmissionOutcome =
  | { outcome: 'accepted' | 'duplicate' | 'ignored'; threadId: string; messageId: string }
  | { outcome: 'refused'; threadId: string; messageId: string; text: string }
  | { outcome: 'noThread' }

/**
 * The console as its web pages need it. Calls reject when the store fails or the platform is not started; then nothing was
 * promised, and the same submission may be sent again.
 */
export interface ConsoleBackend {
  /** The newest threads first, or those after (older than) the thread `before`. */
  threads(options: { before?: string; limit: number }): Promise<ConsoleThread[]>
  thread(threadId: string): Promise<ConsoleThread | undefined>
  /** The last `limit` messages (before `before`), oldest first; `more` tells that there are earlier ones. */
  messages(
    threadId: string,
    options: { before?: string; limit: number },
  ): Promise<{ messages: ConsoleMessage[]; more: boolean }>
  status(threadId: string): ConsoleStatus | null
  /** What was whispered in the last moments: a page that has just begun a thread comes to it a little late. */
  whispers(threadId: string): ConsoleWhisper[]
  file(threadId: string, messageId: string): Promise<{ name: string; content: Uint8Array } | undefined>
  /** Resolves when what was typed is in the store and on its way to the bot. */
  submit(submission: ConsoleSubmission): Promise<SubmissionOutcome>
  /** What the bot makes of a press is its own business; `undefined` only when there is no such thread. */
  click(click: ConsoleClick): Promise<ConsoleClickAnswer | undefined>
  /** A dialog was sent off; `undefined` when there is no such thread. The same id gets the same answer again. */
  submitDialog(submission: ConsoleDialogSubmission): Promise<ConsoleDialogAnswer | undefined>
  /** Calls `listener` with every change from now on until the returned function is called. */
  subscribe(listener: (change: ConsoleChange) => void): () => void
}

export interface ConsoleClick {
  /** Made by the browser, one for each press. */
  id: string
  threadId: string
  messageId: string
  action: string
  value: string
}

/** What the clicking person sees of it: words for that person alone (Markdown), a form, or nothing. */
export interface ConsoleClickAnswer {
  text?: string
  dialog?: ConsoleDialog
}

/** A form for one person. `action` and `value` come back with what is sent off. */
export interface ConsoleDialog {
  action: string
  value: string
  title: string
  /** Labels of the buttons. */
  submit: string
  close: string
  /** Plain text above the fields. */
  intro?: string
  fields: { name: string; label: string; value: string; multiline: boolean; required: boolean }[]
}

export interface ConsoleDialogSubmission {
  /** Made by the browser, one for each content that is sent off, however often that takes. */
  id: string
  threadId: string
  action: string
  value: string
  /** By name, exactly as typed. */
  fields: Record<string, string>
}

/** `errors` by field name keep the dialog open; `text` (Markdown) is for the person alone. */
export interface ConsoleDialogAnswer {
  text?: string
  errors?: Record<string, string>
}
