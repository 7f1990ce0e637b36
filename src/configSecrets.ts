import type { Config } from './config.ts'
import { isSecretName, passwordsOf } from './configEnv.ts'
import { createRedactor } from './shared/redact.ts'

/** Every secret value that is known: tokens, keys, passwords in addresses, secrets of the environment. For `createRedactor`. */
export function knownSecrets(config: Config): string[] {
  const { slack, discord, providers, mcpServers, store, engine } = config
  const addresses = [store, engine].flatMap((part) => ('url' in part ? [part.url] : []))
  const mcpFields = Object.values(mcpServers).flatMap((server) =>
    Object.entries(server.kind === 'http' ? server.headers : server.env),
  )
  const found = [
    slack?.botToken,
    slack?.mode === 'socket' ? slack.appToken : slack?.signingSecret,
    discord?.token,
    ...Object.values(providers).flatMap(({ apiKeys, baseUrl }) => [...apiKeys, ...passwordsOf(baseUrl)]),
    ...addresses.flatMap(passwordsOf),
    // The token of `Bearer TOKEN` is a secret wherever it stands.
    ...mcpFields.flatMap(([name, value]) =>
      isSecretName(name) ? [value, value.replace(/^(Bearer|Basic|Token) /i, '')] : passwordsOf(value),
    ),
    ...config.otherSecrets,
  ]
  return [...new Set(found.filter((value) => value !== undefined && value !== ''))] as string[]
}

/** The configuration as it may stand in a log: every known secret masked. */
export function redactedConfig(config: Config): Omit<Config, 'otherSecrets'> {
  const { otherSecrets: _, ...shown } = config
  return createRedactor(knownSecrets(config)).value(shown)
}
