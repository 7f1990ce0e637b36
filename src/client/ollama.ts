export interface Ollama {
  /** Of its OpenAI-compatible side: ends in `/v1`. */
  baseUrl: string
  /** Names of the models it has, newest first as it lists them; may be empty. */
  models: string[]
}

export interface FindOllamaOptions {
  fetch?: typeof fetch
  /** Where it listens. Default: `OLLAMA_HOST` in the forms that Ollama itself takes, else http://127.0.0.1:11434. */
  baseUrl?: string
  /** Default 500: it is on this machine, or it is not there. */
  timeoutMs?: number
}

const DEFAULT_PORT = '11434'

/** A running Ollama, or `null` when none answers as one in time. Never rejects. */
export async function findOllama(options: FindOllamaOptions = {}): Promise<Ollama | null> {
  const { fetch: send = fetch, timeoutMs = 500 } = options
  const host = options.baseUrl ?? ollamaAddress(process.env.OLLAMA_HOST)
  try {
    const response = await send(`${host.replace(/\/+$/, '')}/api/tags`, { signal: AbortSignal.timeout(timeoutMs) })
    if (!response.ok) return null
    const body = (await response.json()) as { models?: unknown } | null
    if (!Array.isArray(body?.models)) return null
    const names = body.models.map((model: { name?: unknown } | null) => model?.name)
    return {
      baseUrl: `${host.replace(/\/+$/, '')}/v1`,
      models: names.filter((name): name is string => typeof name === 'string' && name !== ''),
    }
  } catch {
    return null
  }
}

/** `OLLAMA_HOST` may be a host, `host:port` or an address; 0.0.0.0, where a server listens, is reached on this machine. */
export function ollamaAddress(setting: string | undefined): string {
  const fallback = `http://127.0.0.1:${DEFAULT_PORT}`
  const text = setting?.trim()
  if (!text) return fallback
  const address = /^https?:\/\//.test(text) ? text : `http://${text.startsWith(':') ? `127.0.0.1${text}` : text}`
  if (!URL.canParse(address)) return fallback
  const url = new URL(address)
  if (url.hostname === '0.0.0.0' || url.hostname === '[::]') url.hostname = '127.0.0.1'
  const hasPort = /^https?:\/\/(?:\[[^\]]*\]|[^/:]+):\d+/.test(address)
  if (!hasPort && url.protocol === 'http:' && !/^http:\/\//.test(text)) url.port = DEFAULT_PORT
  return url.toString().replace(/\/+$/, '')
}
