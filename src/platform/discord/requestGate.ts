import { DefaultRestOptions, type RESTOptions } from 'discord.js'

type MakeRequest = RESTOptions['makeRequest']

/** Discord takes 50 requests a second of a bot, whatever they are for; answers to interactions and webhooks are not counted. */
const MOST = 49
const PER_MS = 1_000
const UNCOUNTED = /\/(?:interactions|webhooks)\//
/** Signs of life let everything else pass. */
const SIGN = /\/(?:typing|reactions\/)/

/**
 * Holds requests back so that no second, wherever it begins, sees more of them than Discord takes: the REST client of
 * discord.js counts in seconds of its own, and twice as many can meet where one of them ends. A request is counted until a
 * second after its answer, since only then it is certain when Discord has counted it.
 */
export function createRequestGate(options: { makeRequest?: MakeRequest; now?: () => number } = {}): MakeRequest {
  const { makeRequest = DefaultRestOptions.makeRequest, now = () => performance.now() } = options
  const queues: (() => void)[][] = [[], []]
  let under = 0
  let answered: number[] = []
  let timer: NodeJS.Timeout | undefined

  function pump(): void {
    clearTimeout(timer)
    answered = answered.filter((at) => at + PER_MS > now())
    while (under + answered.length < MOST) {
      const next = queues.find((queue) => queue.length > 0)?.shift()
      if (!next) return
      under++
      next()
    }
    if (answered[0] !== undefined) timer = setTimeout(pump, Math.ceil(answered[0] + PER_MS - now()))
  }

  return async function gated(url, init) {
    if (UNCOUNTED.test(url)) return makeRequest(url, init)
    await new Promise<void>((go) => {
      queues[SIGN.test(url) ? 1 : 0]!.push(go)
      pump()
    })
    try {
      return await makeRequest(url, init)
    } finally {
      under--
      answered.push(now())
      pump()
    }
  }
}
