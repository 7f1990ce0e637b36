import type { PermissionLevel } from './permission.ts'

/** A server as the configuration names it. */
export type McpServerSettings = {
  /** What the server's tools need unless one of the following says otherwise. */
  permission: PermissionLevel
  /** By the server's own name of the tool. */
  tools: Readonly<Record<string, PermissionLevel>>
  /** What a tool needs that calls itself read-only. Default: as any other, because servers may say what they like. */
  readOnly?: PermissionLevel
} & (
  | { kind: 'command'; command: string; args: readonly string[]; env: Readonly<Record<string, string>> }
  | { kind: 'http'; url: string; headers: Readonly<Record<string, string>> }
)

/** All in milliseconds. */
export interface McpTimes {
  /** How long the start waits for servers; those that need longer join later. Default 10,000. */
  startMs: number
  /** Limit for one attempt to connect; `npx` may have to download the server first. Default 60,000. */
  connectMs: number
  /** How long a call may bring neither an answer nor news of progress. Default 120,000. */
  silenceMs: number
  /** Pause after the first failed attempt; it doubles with each. Default 5,000. */
  retryMs: number
  /** Longest such pause. Default 300,000. */
  longestRetryMs: number
  /** How long each step of ending a server process (end of input, TERM, KILL) waits for the next. Default 2,000. */
  graceMs: number
}

export const DEFAULT_TIMES: McpTimes = {
  startMs: 10_000,
  connectMs: 60_000,
  silenceMs: 120_000,
  retryMs: 5_000,
  longestRetryMs: 300_000,
  graceMs: 2_000,
}
