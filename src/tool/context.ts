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
  /** What the preview that people approved was made from; absent where nobody saw one. */
  basis?: string
  /**
   * To be awaited right before an effect outside of this process. Rejects when people have closed this attempt meanwhile,
   * for example while the process stood still. Absent where nobody was asked.
   */
  beforeEffect?: () => Promise<void>
}
