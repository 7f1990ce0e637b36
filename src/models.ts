import type { BaseClient } from './client/baseClient.ts'
import { DemoClient } from './client/demoClient.ts'
import { findOllama } from './client/ollama.ts'
import { OpenAIClient } from './client/openAIClient.ts'
import { type Config, modelFor, type ProviderConfig } from './config.ts'
import { messageOf, type Problem } from './shared/errors.ts'
import type { Log } from './shared/log.ts'

/** The models that answer, and how that was decided. */
export interface Models {
  /** A client for a role; roles without a model of their own share the default one. */
  of(role: string): BaseClient
  /** For the lines at the start, such as `gpt-5 at https://api.openai.com/v1`. */
  described: string
  isDemo: boolean
}

const CHECK_TIMEOUT_MS = 5_000

/** The configured provider; without one a local Ollama if it answers; else the demo model, which says that it is none. */
export async function chooseModels(config: Config, log: Log): Promise<Models> {
  const chosen = modelFor(config)
  if (chosen) {
    const { provider, model } = chosen
    const clients = new Map<string, BaseClient>()
    const of = (role: string) => {
      const name = modelFor(config, role)!.model
      const client = clients.get(name) ?? clientFor(provider, name, config, log)
      clients.set(name, client)
      return client
    }
    return { of, described: `${model} at ${provider.baseUrl}`, isDemo: false }
  }
  const ollama = await findOllama()
  const [model] = ollama?.models ?? []
  if (ollama && model) {
    const client = new OpenAIClient({ apiKeys: ['ollama'], baseUrl: ollama.baseUrl, model, log })
    return { of: () => client, described: `${model} at ${ollama.baseUrl} (a local Ollama)`, isDemo: false }
  }
  const demo = new DemoClient()
  return { of: () => demo, described: 'the demo model', isDemo: true }
}

function clientFor(provider: ProviderConfig, model: string, config: Config, log: Log): BaseClient {
  return new OpenAIClient({
    // The SDK wants some key; servers without one ignore it.
    apiKeys: provider.apiKeys.length > 0 ? provider.apiKeys : ['none'],
    baseUrl: provider.baseUrl,
    model,
    maxRetries: config.agent.maxRetries,
    retryIntervalMs: config.agent.retryIntervalMs,
    prices: provider.prices,
    log,
  })
}

/**
 * Whether the configured model server is there and takes the keys, by `GET /models`, which costs nothing. A server that
 * does not offer that list, or is overloaded, passes: the first question will tell. Answers the problems, none if all is well.
 */
export async function checkModelServer(config: Config, log: Log, fetching = fetch): Promise<Problem[]> {
  const chosen = modelFor(config)
  if (!chosen) return []
  const { provider, model } = chosen
  const where = `The model server ${provider.baseUrl} (provider \`${provider.name}\`)`
  const fromEnvironment = config.sources.configFile === null
  const address = fromEnvironment ? '`OPENAI_BASE_URL`' : `\`providers.${provider.name}.base_url\``
  const key = fromEnvironment ? '`OPENAI_API_KEY`' : `\`providers.${provider.name}.api_keys\``
  const problems: Problem[] = []
  const refused: number[] = []
  const keys = provider.apiKeys.length > 0 ? provider.apiKeys : ['none']
  for (const [index, apiKey] of keys.entries()) {
    try {
      const response = await fetching(`${provider.baseUrl}/models`, {
        headers: { authorization: `Bearer ${apiKey}` },
        signal: AbortSignal.timeout(CHECK_TIMEOUT_MS),
      })
      if (response.status === 401 || response.status === 403) refused.push(index + 1)
      else if (response.ok) await warnIfUnknown(response, model, log)
      else await response.body?.cancel()
    } catch (error) {
      const cause = error instanceof Error && error.cause ? messageOf(error.cause) : messageOf(error)
      const mend = `Check ${address} and that the server runs and can be reached from here.`
      return [{ problem: `${where} can't be reached: ${cause}.`, mend }]
    }
  }
  if (refused.length === keys.length) {
    problems.push({ problem: `${where} does not accept the key.`, mend: `Set ${key} to a valid one.` })
  } else if (refused.length > 0) {
    log.warn({ provider: provider.name, keys: refused }, 'some of the keys are not accepted and will be passed over')
  }
  return problems
}

async function warnIfUnknown(response: Response, model: string, log: Log): Promise<void> {
  const list = (await response.json().catch(() => null)) as { data?: { id?: string }[] } | null
  const ids = Array.isArray(list?.data) ? list.data.map(({ id }) => id) : []
  if (ids.length > 0 && !ids.includes(model)) log.warn({ model }, 'the model server does not list this model')
}
