import { isIP } from 'node:net'

/**
 * Who may speak to the pages at all, judged by the head of a request before anything reads its body (design 10).
 *
 * Without a token everybody who reaches the pages is the one local person, so they must be reachable from this machine
 * alone. Listening on loopback is not enough for that: a foreign web page can make the browser send requests there, under
 * its own name (foreign `Origin`) or, with DNS rebinding, under a name that resolves to us (foreign `Host`); and a proxy can
 * carry the world's requests in (forwarded headers).
 */
export interface DoorOptions {
  /** As in `HOST`. */
  host: string
  port: number
  publicUrl: URL | null
  /** True when sessions need a token. */
  token: boolean
}

/** The head of a request, names in lower case, repeated headers as Node's `rawHeaders` has them. */
export interface RequestHead {
  method: string
  /** The request target as it was sent. */
  target: string
  rawHeaders: readonly string[]
}

export interface Refusal {
  status: 400 | 403
  /** What is wrong and what to do about it, for a person who reads it in a browser or with curl. */
  text: string
}

/** Headers by which proxies tell where a request really came from. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-ip|x-client-ip|x-original-.+|true-client-ip|cf-connecting-ip)$/

const MEND_PUBLIC = 'Set console.public_url to the address people use and open the link that is printed at the start.'

export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'))
}

/** True when the console asks for a token: as soon as it can be reached from beyond this machine. */
export function needsToken(host: string, publicUrl?: string | null): boolean {
  return !isLoopback(host) || Boolean(publicUrl)
}

/** The door: answers why a request is refused, or `null` for one that may come in. */
export function createDoor(options: DoorOptions): (head: RequestHead) => Refusal | null {
  const { port, publicUrl } = options

  /** Names under which this server may be addressed. A name that we do not know may be one that was rebound to us. */
  function knows(host: string): boolean {
    if (host === publicUrl?.host) return true
    const { name, itsPort } = splitHost(host)
    if (itsPort !== port) return false
    if (isLoopback(options.host)) return ['localhost', '127.0.0.1', '[::1]', options.host].includes(name)
    // An address can't be rebound, so any address of this machine will do; of names only the configured one.
    return name === 'localhost' || name === options.host.toLowerCase() || isIP(name.replace(/^\[|\]$/g, '')) !== 0
  }

  return function refuse({ method, target, rawHeaders }) {
    if (!target.startsWith('/') || target.startsWith('//'))
      return { status: 400, text: 'The request target must be a path.' }

    const hosts = valuesOf(rawHeaders, 'host')
    if (hosts.length !== 1) return { status: 400, text: 'A request needs exactly one Host header.' }
    const host = hosts[0]!.toLowerCase()
    if (!knows(host)) {
      return { status: 403, text: `This server does not answer to the name ${quoted(host)}. ${MEND_PUBLIC}` }
    }

    const forwarded = namesOf(rawHeaders).find((name) => FORWARDED.test(name))
    if (!options.token && forwarded !== undefined) {
      const text = `This request came through a proxy (${forwarded}), and the console is open to this machine alone.`
      return { status: 403, text: `${text} ${MEND_PUBLIC}` }
    }

    const origins = valuesOf(rawHeaders, 'origin')
    const reads = method === 'GET' || method === 'HEAD'
    const own = [`http://${host}`, publicUrl?.origin]
    if (origins.length > 1 || origins.some((origin) => !own.includes(origin))) {
      return { status: 403, text: 'This request comes from another web page (Origin) and is refused.' }
    }
    if (!reads && origins.length === 0) {
      return { status: 403, text: 'A request that changes something needs the Origin header that browsers send.' }
    }

    // A foreign page that embeds one of our addresses sends no Origin, but browsers say where the request began.
    const site = valuesOf(rawHeaders, 'sec-fetch-site')[0]
    const navigates = reads && valuesOf(rawHeaders, 'sec-fetch-mode')[0] === 'navigate'
    if (site !== undefined && site !== 'same-origin' && site !== 'none' && !navigates) {
      return { status: 403, text: 'This request comes from another web page (Sec-Fetch-Site) and is refused.' }
    }
    return null
  }
}

function splitHost(host: string): { name: string; itsPort: number } {
  const found = /^(\[[0-9a-f:.]+\]|[^:\s]+)(?::(\d{1,5}))?$/.exec(host)
  return found ? { name: found[1]!, itsPort: Number(found[2] ?? 80) } : { name: '', itsPort: 0 }
}

function namesOf(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
}

function valuesOf(rawHeaders: readonly string[], wanted: string): string[] {
  return namesOf(rawHeaders).flatMap((name, index) => (name === wanted ? [rawHeaders[index * 2 + 1]!] : []))
}

/** What a stranger sent, fit to be said back: short and without control characters. */
function quoted(text: string): string {
  return `"${text.slice(0, 100).replace(/[^\x20-\x7e]/g, '?')}"`
}
