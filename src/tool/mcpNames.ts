import { createHash } from 'node:crypto'

/** Longest tool name of model APIs (facts/llm.md, c 7). */
const LONGEST = 64
/** Between the server's and the tool's part. No built-in tool has it in its name, so none can be shadowed. */
const BETWEEN = '__'
/** Length of the server's part where a name has to be shortened. */
const SERVER_PART = 20
/** Starts with a letter, because Gemini wants that; no `__` and no `_` at an end, so that two parts join in one way only. */
const PLAIN_SERVER = /^[a-zA-Z][a-zA-Z0-9-]*(_[a-zA-Z0-9-]+)*$/
const PLAIN_TOOL = /^[a-zA-Z0-9-]+(_[a-zA-Z0-9-]+)*$/

export interface McpToolId {
  server: string
  /** As the server says it: any text. */
  tool: string
}

/**
 * Names under which tools of MCP servers are offered: `server__tool` where that is a valid name already, else a cleaned form
 * that ends in a hash of the originals. A name depends on its tool alone, not on what else is offered: stored calls and
 * approvals find the same tool after a restart. In the same order as `ids`; all are different if the `ids` are.
 */
export function outwardNames(ids: readonly McpToolId[]): string[] {
  const taken = new Set(ids.map(plainName).filter((name) => name !== undefined))
  return ids.map((id) => {
    const plain = plainName(id)
    if (plain !== undefined) return plain
    // A tool can be named like another one's hashed name; a longer hash then tells them apart.
    const name = [8, 16, 24].map((digits) => hashedName(id, digits)).find((one) => !taken.has(one))
    if (name === undefined)
      throw new Error(`no name is left for the tool "${id.tool}" of the MCP server "${id.server}"`)
    taken.add(name)
    return name
  })
}

/** What all names of a server's tools start with. */
export function namePrefix(server: string): string {
  return `${PLAIN_SERVER.test(server) ? server : cleaned(server, SERVER_PART, 'server')}${BETWEEN}`
}

function plainName({ server, tool }: McpToolId): string | undefined {
  const name = `${server}${BETWEEN}${tool}`
  return PLAIN_SERVER.test(server) && PLAIN_TOOL.test(tool) && name.length <= LONGEST ? name : undefined
}

function hashedName({ server, tool }: McpToolId, digits: number): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, digits)
  const start = `${cleaned(server, SERVER_PART, 'server')}${BETWEEN}`
  return `${start}${cleaned(tool, LONGEST - start.length - digits - 1, 'tool')}_${hash}`
}

function cleaned(text: string, most: number, otherwise: string): string {
  const readable = text
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[^a-zA-Z0-9-]+/g, '_')
  const short = readable.replace(/^_+/, '').slice(0, most).replace(/_+$/, '')
  if (short === '') return otherwise
  return otherwise === 'server' && !/^[a-zA-Z]/.test(short) ? `s_${short}`.slice(0, most) : short
}
