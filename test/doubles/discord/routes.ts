import { refusals } from './apiError.ts'
import type { ApiRequest, Context, Handler } from './context.ts'
import { channelFor } from './context.ts'
import { callback, deleteOriginal, editOriginal, followUp, getOriginal } from './interactionRoutes.ts'
import {
  addReaction,
  createMessage,
  deleteMessage,
  editMessage,
  getMessage,
  listMessages,
  removeReaction,
  typing,
} from './messageRoutes.ts'
import { activeThreads, changeChannel, threadInChannel, threadOnMessage } from './threadRoutes.ts'
import { CHANNEL } from './world.ts'

export interface Route {
  method: string
  /** `METHOD /path` with `:id`, `:token`, `:emoji` in place of what varies: how faults and records name it. */
  name: string
  pattern: RegExp
  handler: Handler
  /** Interaction callbacks and webhooks carry their token in the path and no Authorization. */
  withoutToken: boolean
}

const table: [string, Handler, 'withoutToken'?][] = [
  ['GET /gateway/bot', gatewayBot],
  ['GET /applications/@me', (context) => application(context)],
  ['PUT /applications/:id/commands', (context, request) => putCommands(context, request, 'global')],
  [
    'PUT /applications/:id/guilds/:id/commands',
    (context, request) => putCommands(context, request, request.params[1]!),
  ],
  ['POST /channels/:id/messages', createMessage],
  ['GET /channels/:id/messages', listMessages],
  ['GET /channels/:id/messages/:id', getMessage],
  ['PATCH /channels/:id/messages/:id', editMessage],
  ['DELETE /channels/:id/messages/:id', deleteMessage],
  ['PUT /channels/:id/messages/:id/reactions/:emoji/@me', addReaction],
  ['DELETE /channels/:id/messages/:id/reactions/:emoji/@me', removeReaction],
  ['POST /channels/:id/messages/:id/threads', threadOnMessage],
  ['POST /channels/:id/threads', threadInChannel],
  ['POST /channels/:id/typing', typing],
  ['PUT /channels/:id/thread-members/@me', (context, request) => void channelFor(context, request.params[0]!)],
  ['GET /channels/:id', (context, request) => channelFor(context, request.params[0]!)],
  ['PATCH /channels/:id', changeChannel],
  ['GET /guilds/:id', (context, request) => guild(context, request)],
  ['GET /guilds/:id/channels', guildChannels],
  ['GET /guilds/:id/threads/active', activeThreads],
  ['GET /guilds/:id/members/:id', guildMember],
  ['GET /users/@me', (context) => context.world.bot],
  [
    'GET /users/:id',
    (context, request) => context.world.users.get(request.params[0]!) ?? refuse(refusals.unknownUser()),
  ],
  ['POST /users/@me/channels', openDm],
  ['POST /interactions/:id/:token/callback', callback, 'withoutToken'],
  ['POST /webhooks/:id/:token', followUp, 'withoutToken'],
  ['GET /webhooks/:id/:token/messages/:message', getOriginal, 'withoutToken'],
  ['PATCH /webhooks/:id/:token/messages/:message', editOriginal, 'withoutToken'],
  ['DELETE /webhooks/:id/:token/messages/:message', deleteOriginal, 'withoutToken'],
]

export const routes: Route[] = table.map(([name, handler, withoutToken]) => {
  const [method = '', path = ''] = name.split(' ')
  const source = path
    .split('/')
    .map((part) => (part === ':id' ? '(\\d{17,19})' : part.startsWith(':') ? '([^/]+)' : part))
    .join('/')
  return { method, name, pattern: new RegExp(`^${source}$`), handler, withoutToken: withoutToken !== undefined }
})

function gatewayBot({ gateway }: Context) {
  const session_start_limit = { total: 1000, remaining: 999, reset_after: 86_400_000, max_concurrency: 16 }
  return { url: gateway.url(), shards: 1, session_start_limit }
}

function application({ world }: Context) {
  return { id: world.bot.id, name: world.bot.username, flags: 565248, bot: world.bot }
}

function putCommands({ commands, world }: Context, request: ApiRequest, scope: string) {
  if (request.params[0] !== world.bot.id) throw refusals.missingAccess()
  if (scope !== 'global' && !world.guilds.has(scope)) throw refusals.missingAccess()
  const list = (request.body.list ?? []) as { name: string; description?: string }[]
  for (const { name, description = '' } of list) {
    if (!/^[-_\p{Ll}\p{N}]{1,32}$/u.test(name)) throw refusals.unknownRoute()
    if ([...description].length < 1 || [...description].length > 100) throw refusals.unknownRoute()
  }
  const stored = list.map((command) => ({ type: 1, ...command, id: world.snowflake(), version: world.snowflake() }))
  commands.set(scope, stored)
  return stored
}

function guild({ world }: Context, request: ApiRequest) {
  const found = world.guilds.get(request.params[0]!) ?? refuse(refusals.unknownGuild())
  const { members: _, ...shown } = found
  return { ...shown, emojis: [], stickers: [], features: [] }
}

function guildChannels({ world }: Context, request: ApiRequest) {
  return [...world.channels.values()].filter(
    ({ guild_id, thread_metadata }) => guild_id === request.params[0] && !thread_metadata,
  )
}

function guildMember({ world }: Context, request: ApiRequest) {
  if (!world.guilds.has(request.params[0]!)) throw refusals.unknownGuild()
  return world.member(request.params[0], request.params[1]!) ?? refuse(refusals.unknownMember())
}

function openDm({ world }: Context, request: ApiRequest) {
  const user = world.users.get(String(request.body.recipient_id)) ?? refuse(refusals.unknownUser())
  const known = [...world.channels.values()].find(
    ({ type, recipients }) => type === CHANNEL.dm && recipients?.[0]?.id === user.id,
  )
  return known ?? world.newChannel({ type: CHANNEL.dm, recipients: [user] })
}

function refuse(error: Error): never {
  throw error
}
