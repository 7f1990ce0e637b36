import { createRequire } from 'node:module'
import type { RESTOptions } from 'discord.js'

type Agent = NonNullable<RESTOptions['agent']>

/**
 * An agent of the undici that discord.js' REST client itself uses. Slack's libraries bring a newer undici, which replaces the
 * global dispatcher of the process; with that one, uploads of discord.js fail. An agent of its own keeps the two apart.
 */
export function createRestAgent(): Agent {
  const ofDiscord = createRequire(createRequire(import.meta.url).resolve('discord.js'))
  const ofRest = createRequire(ofDiscord.resolve('@discordjs/rest'))
  const { Agent } = ofRest('undici') as { Agent: new () => Agent }
  return new Agent()
}
