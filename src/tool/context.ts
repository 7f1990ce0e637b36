/** What a call knows of its surroundings. */
export interface ToolContext {
  /** Aborts when the run is stopped. A tool that can take long must heed it. */
  signal: AbortSignal
  /** Tells two calls of one name apart; stable over restarts. */
  callKey: string
  /** Store key of the thread; `null` outside of a thread. */
  threadKey: string | null
  /** The person on whose behalf the run works; `null` where nobody asked. */
  requester: { id: string; name: string } | null
  /** Absolute path of the folder the tools work on. */
  workspace: string
}
