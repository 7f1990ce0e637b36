import { createHash } from 'node:crypto'

/**
 * The keys of the session room, in one place. A thread's own keys all begin with `thread/KEY/`. Numbers are padded, so that
 * the store's order of keys is the order of numbers.
 */
const DIGITS = 12

export const threadKeys = {
  head: (thread: string) => `${root(thread)}head`,
  /** Where the model's view begins: `ViewStart`. */
  view: (thread: string) => `${root(thread)}view`,
  shown: (thread: string) => `${root(thread)}shown`,
  records: (thread: string) => `${root(thread)}record/`,
  record: (thread: string, seq: number) => `${root(thread)}record/${padded(seq)}`,
  slots: (thread: string) => `${root(thread)}slot/`,
  slot: (thread: string, slot: number) => `${root(thread)}slot/${padded(slot)}`,
  /** No slot below the highest of these numbers is ever written or read again. */
  floors: (thread: string) => `${root(thread)}floor/`,
  floor: (thread: string, slot: number) => `${root(thread)}floor/${padded(slot)}`,
  seen: (thread: string) => `${root(thread)}seen`,
}

/** One entry for each accepted event that is not known to be dealt with. */
export const openKeys = {
  all: 'open/',
  thread: (thread: string) => `open/${part(thread)}/`,
  slot: (thread: string, slot: number) => `open/${part(thread)}/${padded(slot)}`,
}

export const eventKey = (id: string): string => `event/${part(id)}`

export const outboxKey = (thread: string, key: string): string => `outbox/${part(thread)}/${part(key)}`

export const activityKey = (thread: string): string => `activity/${part(thread)}`

/** Where a text was cut, and what is still to be done with a message. */
export const cutsKey = (thread: string, key: string): string => `cuts/${part(thread)}/${part(key)}`
export const leftoverKeys = {
  all: (thread: string) => `leftover/${part(thread)}/`,
  message: (thread: string, key: string) => `leftover/${part(thread)}/${part(key)}`,
}

/** `null` stands for calls outside of any thread. */
export const resultKey = (thread: string | null, id: string): string => `result/${part(thread ?? '-')}/${part(id)}`

export const timerKeys = {
  all: 'timer/',
  due: (thread: string, dueAt: number) => `timer/${padded(dueAt, 16)}/${part(thread)}`,
  /** When the timer at `key` is due, in milliseconds since the epoch. */
  dueAt: (key: string) => Number(key.split('/')[1]),
}

/** How far an import into this store has come. */
export const importKey = 'import'

/** How often in a row a thread's runs have failed. */
export const failingKeys = {
  thread: (thread: string) => `failing/${part(thread)}`,
}

export const parkedKeys = {
  all: 'parked/',
  thread: (thread: string) => `parked/${part(thread)}`,
}

/** Usage: which hours a scope has calls in, the calls, and the sums of hours that are over. Hours sort as text. */
export const usageKeys = {
  hours: (scope: string) => `usage/hour/${part(scope)}/`,
  hour: (scope: string, hour: string) => `usage/hour/${part(scope)}/${hour}`,
  calls: (scope: string, hour: string) => `usage/call/${part(scope)}/${hour}/`,
  call: (scope: string, hour: string, id: string) => `usage/call/${part(scope)}/${hour}/${part(id)}`,
  sum: (scope: string, hour: string) => `usage/sum/${part(scope)}/${hour}`,
}

/** Approvals: what is known of a call lies together, so that one listing reads it all. */
export const approvalKeys = {
  all: 'approval/',
  thread: (thread: string) => `approval/${part(thread)}/`,
  call: (thread: string, callKey: string) => `approval/${part(thread)}/call/${part(callKey)}/`,
  ask: (thread: string, callKey: string, version: number) => `${versionPart(thread, callKey, version)}ask`,
  vote: (thread: string, callKey: string, version: number, person: string) =>
    `${versionPart(thread, callKey, version)}vote/${part(person)}`,
  decision: (thread: string, callKey: string, version: number) => `${versionPart(thread, callKey, version)}decision`,
  begin: (thread: string, callKey: string, attempt: number) => `${attemptPart(thread, callKey, attempt)}begin`,
  end: (thread: string, callKey: string, attempt: number) => `${attemptPart(thread, callKey, attempt)}end`,
  /** One entry for each fresh start of the thread. */
  generations: (thread: string) => `approval/${part(thread)}/generation/`,
  generation: (thread: string, number: number) => `approval/${part(thread)}/generation/${padded(number, 6)}`,
  always: (thread: string, generation: number, scope: string) =>
    `approval/${part(thread)}/always/${padded(generation, 6)}/${part(scope)}`,
  /** Calls whose latest version may be undecided. */
  open: (thread: string) => `approval-open/${part(thread)}/`,
  openCall: (thread: string, callKey: string) => `approval-open/${part(thread)}/${part(callKey)}`,
}

function versionPart(thread: string, callKey: string, version: number): string {
  return `${approvalKeys.call(thread, callKey)}v${padded(version, 4)}/`
}

function attemptPart(thread: string, callKey: string, attempt: number): string {
  return `${approvalKeys.call(thread, callKey)}a${padded(attempt, 4)}/`
}

/** Threads that show the cards of another one, and the other way round. */
export const mirrorKeys = {
  home: (mirror: string) => `mirror/home/${part(mirror)}`,
  mirror: (home: string) => `mirror/of/${part(home)}`,
}

/** Which tools people switched on or off, in a thread or a channel: every switch is kept, the last one counts. */
export const switchKeys = {
  all: 'switch/',
  scope: (scope: string) => `switch/${part(scope)}/`,
  tool: (scope: string, tool: string) => `switch/${part(scope)}/${part(tool)}/`,
  entry: (scope: string, tool: string, number: number) => `switch/${part(scope)}/${part(tool)}/${padded(number, 6)}`,
}

/** The number at the end of a record's, slot's or open-work key. */
export function numberOf(key: string): number {
  return Number(key.slice(key.lastIndexOf('/') + 1))
}

export function padded(number: number, digits = DIGITS): string {
  if (!Number.isSafeInteger(number) || number < 0) throw new RangeError(`${number} can't be part of a key`)
  return String(number).padStart(digits, '0')
}

/**
 * A text as one part of a key. What other systems mint (event ids, outbox keys) may hold anything at any length: where a
 * store could not take it, or it could be mistaken for two parts, its hash stands in.
 */
export function part(text: string): string {
  const plain = text.length > 0 && text.length <= 200 && text.isWellFormed() && !/[/\0]/.test(text) && text[0] !== '#'
  return plain ? text : `#${createHash('sha256').update(text).digest('base64url')}`
}

/** The key of a thread must stay readable in a listing, so here a `/` is a mistake and not hashed away. */
function root(thread: string): string {
  if (part(thread) !== thread) throw new RangeError(`"${thread}" can't be the key of a thread`)
  return `thread/${thread}/`
}
