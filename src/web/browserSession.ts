import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** How long a browser stays signed in. */
const SESSION_SECONDS = 30 * 24 * 3600

/**
 * The sessions of browsers: a cookie that we signed and whose end it carries, so that nothing is stored and every instance
 * with the same token takes it. A new token ends all sessions. Without a token the key lives as long as the process, and
 * pages ask for a new session by themselves.
 */
export interface BrowserSessions {
  /** The `Set-Cookie` value of a new session, or `null` when the given token is wrong. */
  open(token: string | undefined): string | null
  /** The `Set-Cookie` value that prolongs a session which is held. */
  renew(): string
  /** True when the request's `Cookie` header carries a session of ours. */
  holds(cookieHeader: string | undefined): boolean
  /** True for the token itself, as scrapers of `/metrics` send it; never where there is none. */
  isToken(given: string | undefined): boolean
}

export function createBrowserSessions(options: {
  token: string | null
  /** Cookies of one machine are shared by all its ports; the name keeps ours apart. */
  port: number
  /** True when browsers reach us by https. */
  secure: boolean
  now?: () => number
}): BrowserSessions {
  const { token, port, secure, now = Date.now } = options
  const key = token ?? randomBytes(32).toString('hex')
  const cookie = secure ? '__Host-toycoder' : `toycoder-${port}`
  const sign = (end: string) => createHmac('sha256', key).update(`console session until ${end}`).digest('base64url')
  const isToken = (given: string | undefined) => token !== null && given !== undefined && same(given, token)

  function renew(): string {
    const end = String(Math.floor(now() / 1000) + SESSION_SECONDS)
    const attributes = `Path=/; Max-Age=${SESSION_SECONDS}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
    return `${cookie}=${end}.${sign(end)}; ${attributes}`
  }

  return {
    isToken,
    renew,
    open: (given) => (token === null || isToken(given) ? renew() : null),

    holds(cookieHeader) {
      const pairs = (cookieHeader ?? '').split(';').map((pair) => pair.trim().split('='))
      return pairs.some(([name, value = '']) => {
        if (name !== cookie) return false
        const [end = '', signature = ''] = value.split('.')
        return same(signature, sign(end)) && Number(end) * 1000 > now()
      })
    },
  }
}

/** Compares in constant time, whatever the lengths. */
function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
