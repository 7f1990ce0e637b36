/** Calls of tools in parts, for platforms that show them as more than text. Plain text throughout, secrets masked. */

export interface Task {
  /** Tells it apart from the others of its message; stays the same as long as it is shown. */
  id: string
  /** One line: the tool, and the argument that tells most. */
  title: string
  state: 'running' | 'done' | 'failed'
  /** That argument, where the line does not hold it whole. */
  details?: string
  /** What came of it, as much as is shown of it. */
  output?: string
}

/** Several calls that share a message. */
export interface TaskGroup {
  title: string
  tasks: readonly Task[]
}
