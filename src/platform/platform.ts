/**
 * What a chat platform is to the rest of ToyCoder: types only. A platform can hear, post, edit, upload and check who
 * somebody is. Pace, splitting and wording are decided once, in `delivery` and `conversation`.
 *
 * Every failing call rejects with a `PlatformError` (shared/errors.ts) whose `kind` tells the caller what to do.
 */
import type { Task, TaskGroup } from '../shared/task.ts'
import type { MessageRef, Person, PlatformName, ThreadRef } from '../shared/thread.ts'

export interface ChatPlatform {
  readonly name: PlatformName
  readonly limits: PlatformLimits
  /** `null` where text can grow by edits only. */
  readonly streaming: Streaming | null

  /**
   * Connects and begins to hand events to `inbox`. Resolves when events flow. Rejects with a `SetupError` that names the
   * setting when the tokens, scopes or intents are wrong; later trouble is logged and mended by reconnecting.
   */
  start(inbox: PlatformInbox): Promise<void>
  /** Takes no new events from here on. Calls that are under way may finish; resolves when the connection is closed. */
  stop(): Promise<void>

  /** Length of what this Markdown becomes here, in the unit of `limits.text`; the splitter measures with it. */
  size(markdown: string): number

  /** Opens a new thread in a channel with `body` as its first message. Idempotent by `key`, like `post`. */
  open(place: Place, body: MessageBody, options: PostOptions): Promise<{ thread: ThreadRef; ref: MessageRef }>
  /**
   * Posts into a thread. The same `key` never makes two messages: the platform's own means are used where there are some
   * (Discord's nonce), and with `inDoubt` the thread is read for the key before anything is sent.
   */
  post(thread: ThreadRef, body: MessageBody, options: PostOptions): Promise<MessageRef>
  /** Replaces the whole message. Callers keep one edit in flight per message. */
  edit(thread: ThreadRef, ref: MessageRef, body: MessageBody): Promise<void>
  /** Removes one of our own messages; one that is gone already is fine. */
  remove(thread: ThreadRef, ref: MessageRef): Promise<void>
  upload(thread: ThreadRef, file: OutgoingFile, options: PostOptions): Promise<MessageRef | null>
  /** Sets (or with `null` clears) the bot's one reaction on a message. Best effort: never rejects for lack of a right. */
  react(thread: ThreadRef, ref: MessageRef, name: Reaction | null): Promise<void>
  /**
   * Shows that the bot is at work in the thread (typing, Slack's status) or, with `null`, no longer. Best effort, never rejects.
   * `ThreadView` calls it again at least every 8 seconds while nothing else is visible.
   */
  status(thread: ThreadRef, text: string | null): Promise<void>
  /** Says something to one person only. Where the platform has no means, it may be dropped: resolves to false. */
  whisper(thread: ThreadRef | Place, personId: string, markdown: string, options?: WhisperOptions): Promise<boolean>

  /** Up to `limit` messages before `before` (exclusive), oldest first, always the newest of those; pages as needed. */
  history(thread: ThreadRef, before: MessageRef | null, limit: number): Promise<History>
  permalink(thread: ThreadRef, ref: MessageRef): Promise<string | null>
  /**
   * Who somebody is by the platform's own data, from a cache of at most 5 minutes (events may refresh it). Somebody whom the
   * platform does not know or show counts as a guest of another organisation. Rejects only for what may pass.
   */
  person(account: string, id: string): Promise<Person>
}

export interface PlatformLimits {
  /** The longest text of one message that can be posted and edited. */
  text: number
  unit: 'codePoints' | 'utf16' | 'bytes'
  /** How often what may be called. A call counts against every limit that names it; without any, nobody counts. */
  calls: readonly CallLimit[]
  /** Shortest pause between two edits of one message, in milliseconds. */
  editIntervalMs: number
  /** The largest file in bytes. */
  fileBytes: number
  /** What a dialog can hold: `characters` is the most that one field takes, in UTF-16 units. */
  dialog: { fields: number; characters: number }
}

export type LimitedCall = 'post' | 'edit' | 'remove' | 'react' | 'status' | 'startStream' | 'addToStream' | 'endStream'

/** No window of `perMs` milliseconds, wherever it begins, holds more than `most` calls. */
export interface Rate {
  most: number
  perMs: number
}

export interface CallLimit extends Rate {
  calls: readonly LimitedCall[]
  /** What is counted together: all of the bot, a workspace or server, a channel, or a thread (Discord: one is a channel). */
  scope: 'bot' | 'account' | 'channel' | 'thread'
  /** How many may be made at once; the others are spread evenly over the window. Default `most`. */
  burst?: number
  /** How many are kept for cards and final texts. Default 0. */
  reserve?: number
}

/**
 * Text that grows by being added to instead of by edits (Slack's native streams). What was added can't be taken back, and
 * the message can't be edited before its stream is ended; `edit` ends one that is still open by itself.
 */
export interface Streaming {
  /** Whether a text of this thread may be streamed now. What the platform has refused is remembered. */
  isOffered(thread: ThreadRef): boolean
  /** After so long a stream is to be ended, in milliseconds: soon afterwards the platform would do so. */
  longestMs: number
  /** The most that a stream may hold, as `weight` measures it. */
  most: number
  weight(text: string): number
  /** Shortest pause between two additions to one stream, in milliseconds. */
  intervalMs: number
  /** What the Markdown is in a stream: exactly what a message with the same Markdown shows. */
  print(markdown: string): string
  /** `text` is printed and not empty, here and below. */
  start(thread: ThreadRef, text: string): Promise<MessageRef>
  add(thread: ThreadRef, ref: MessageRef, text: string): Promise<void>
  /** From here on the message is one like all others. */
  end(thread: ThreadRef, ref: MessageRef, last: StreamEnd): Promise<void>
  /** The newest message in the thread that a stream may have begun without our knowing; `known` are others than that. */
  findLost(thread: ThreadRef, known: readonly MessageRef[]): Promise<MessageRef | null>
}

export interface StreamEnd {
  /** What is still to be added; may be empty. */
  text: string
  /** The idempotency key of the message. */
  key: string
  footer?: string
  buttons?: Button[]
}

/** A channel in which a thread can be opened. */
export interface Place {
  platform: PlatformName
  account: string
  channel: string
}

export interface PostOptions {
  /** Idempotency key: stable over retries and restarts. Any length; platforms hash it to what they can carry. */
  key: string
  /** True when an earlier attempt with this key may have taken effect: look for it first. */
  inDoubt?: boolean
}

export interface WhisperOptions {
  /** `IncomingCommand.token`, where it answers a command. */
  token?: string
  buttons?: Button[]
}

/**
 * One message. The text is GitHub-flavoured Markdown that `size` found to fit; `render` makes of it what the platform shows.
 * Nothing in it pings anybody except the people named in `mentions`.
 */
export interface MessageBody {
  markdown: string
  /**
   * - `answer`: what the agent says
   * - `activity`: a tool call or its result; quiet (no notification, no unfurling)
   * - `notice`: the bot itself speaks (errors, refusals, help)
   * - `card`: asks people for a decision by its buttons, or says how they decided; people may be notified of it
   */
  kind: 'answer' | 'activity' | 'notice' | 'card'
  /** True for a preview that will be replaced; looks like one. */
  live?: boolean
  /** For `activity`: how the call stands, for platforms that show it as more than text. Default `done`. */
  state?: 'running' | 'done' | 'failed'
  /** For `activity`: what the text says, in parts, and more of it where there is room. */
  task?: Task | TaskGroup
  /** Small print below: model, duration, tokens. Plain text. */
  footer?: string
  buttons?: Button[]
  /** People (ids) whose mention `<@ID>` in the text may notify them. */
  mentions?: string[]
}

export interface Button {
  /** At most 40 characters; comes back in `Click.action`. */
  action: string
  label: string
  style: 'primary' | 'danger' | 'plain'
  /** At most 60 characters; comes back in `Click.value`. Never trusted: it only names what is looked up in the store. */
  value: string
}

export type Reaction = 'working' | 'waiting' | 'done' | 'failed'

export interface OutgoingFile {
  name: string
  content: string | Uint8Array
  /** Text beside the file, Markdown. */
  comment?: string
}

export interface History {
  messages: PastMessage[]
  /** True when messages between the thread's first message and these were left out. */
  cut: boolean
}

export interface PastMessage {
  ref: MessageRef
  author: { id: string; name: string; isBot: boolean; isSelf: boolean }
  text: string
  /** Milliseconds since the epoch. */
  at: number
}

// What comes in ---------------------------------------------------------------------------------------------------------

/**
 * Where platforms put what they hear. An event is in the store when the promise resolves: only then may it be acknowledged.
 * A rejection means that it is not, so the platform must not acknowledge it (and, where nothing is redelivered, tries again).
 */
export interface PlatformInbox {
  message(message: IncomingMessage): Promise<Receipt>
  command(command: IncomingCommand): Promise<Receipt>
  /** Answered within the platforms' 3 seconds: what it resolves to is shown to the clicking person alone. */
  click(click: Click): Promise<ClickAnswer>
  /** A dialog was sent off. Answered within 3 seconds, too. */
  submit(submission: Submission): Promise<SubmitAnswer>
  /** Somebody wants the run of a thread to end, by other means than words or a button. */
  stop(stop: IncomingStop): Promise<Receipt>
  /** The threads of this platform that the bot takes part in, newest first, for catching up after a restart. */
  followed(platform: PlatformName): Promise<FollowedThread[]>
}

/** `ignored`: not for the bot (not followed, not allowed, a bot's). `refused` has a sentence for the sender alone. */
export type Receipt = { outcome: 'accepted' | 'duplicate' | 'ignored' } | { outcome: 'refused'; text: string }

export interface FollowedThread {
  thread: ThreadRef
  /** The newest message of a person that was delivered from it. */
  lastSeen: MessageRef
}

/**
 * Who sent an event, as far as the event itself tells: no call to the platform is made before an event is stored.
 * Whether the person is a guest, an admin or has a role is asked later with `ChatPlatform.person`.
 */
export interface Sender {
  id: string
  /** The name people see, or the id where the event does not carry the name. */
  name: string
  isBot: boolean
  isExternal: boolean
}

export interface IncomingMessage {
  /**
   * The same for every delivery of the same message, by whatever path (`team:channel:ts`, a message id): the dedupe key.
   */
  id: string
  /** Further ids under which the same message may come again (Slack's `event_id`, `client_msg_id`). */
  aliases: string[]
  thread: ThreadRef
  ref: MessageRef
  author: Sender
  /** Markdown as the person meant it: entities decoded, the bot's own mention taken out, other mentions as `@name`. */
  text: string
  /** Milliseconds since the epoch. */
  at: number
  /**
   * How it reaches the bot: it is named (`mention`), it is a direct message (`direct`), or it stands in a thread
   * (`thread`), which counts only where the bot already takes part.
   */
  addressed: 'mention' | 'direct' | 'thread'
  /** True when the thread holds earlier messages of people that the bot has not been handed. */
  hasEarlier: boolean
  /** True when the platform says that this is a changed version of an older message. */
  edited: boolean
  attachments: Attachment[]
}

export interface Attachment {
  name: string
  mimeType: string
  bytes: number
  /** How to fetch it; the platform adds its own authorisation. */
  url: string
}

/** A slash command. It starts outside of any thread unless `thread` is given. */
export interface IncomingCommand {
  id: string
  place: Place
  /** Where the command was typed, if that is a thread (Discord). */
  thread?: ThreadRef
  author: Sender
  /** Without the slash: `plan`, `toycoder`. */
  name: string
  text: string
  at: number
  /** For `whisper`: Slack's response_url, Discord's interaction token. Short-lived. */
  token: string
}

export interface Click {
  id: string
  thread: ThreadRef
  ref: MessageRef
  author: Sender
  action: string
  value: string
  at: number
}

/** The platform's own way to stop a bot, or a reaction that means it: the same as `@bot stop`. */
export interface IncomingStop {
  /** The same for every delivery of the same wish. */
  id: string
  thread: ThreadRef
  author: Sender
  /** A person's message that the reaction was put on; it counts where the run answers that message. Absent: ours, or none. */
  on?: MessageRef
  at: number
}

export interface ClickAnswer {
  text?: string
  /** To be opened for the clicking person, as the answer to this click. */
  dialog?: Dialog
}

/** A form for one person. Where it is sent off, `action` and `value` come back in the `Submission`. */
export interface Dialog {
  /** At most 40 characters. */
  action: string
  /** At most 60 characters. Never trusted, like a button's. */
  value: string
  /** At most 24 characters, as Slack takes. */
  title: string
  /** Labels of the buttons. */
  submit: string
  close: string
  /** Text above the fields; plain. */
  intro?: string
  fields: DialogField[]
}

export interface DialogField {
  name: string
  label: string
  /** What stands in it at first; at most `limits.dialog.characters`. */
  value: string
  multiline: boolean
  required: boolean
}

export interface Submission {
  id: string
  thread: ThreadRef
  author: Sender
  action: string
  value: string
  /** By the names of the fields, exactly as sent: nothing is trimmed. An emptied field is the empty string. */
  fields: Record<string, string>
  at: number
}

/** `errors` by field keep the dialog open where the platform can; elsewhere they are told like `text`. */
export interface SubmitAnswer {
  text?: string
  errors?: Record<string, string>
}
