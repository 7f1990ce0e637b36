import type { IncomingMessage, ServerResponse } from 'node:http'
import { chatMethods } from './chatMethods.ts'
import { conversationMethods } from './conversationMethods.ts'
import { createFaults, createRateLimits, type Fault, type Faults, type RateLimits, slow } from './faults.ts'
import type { Method, Methods } from './methods.ts'
import { answerJson, messages, Refusal, readArguments, readBody } from './request.ts'
import { sessionMethods } from './sessionMethods.ts'
import { streamMethods } from './streamMethods.ts'
import { userGroupMethods } from './userGroupMethods.ts'
import type { Fields, World } from './world.ts'

export interface Call {
  method: string
  args: Fields
  /** Milliseconds on the clock of `performance.now()`. */
  at: number
  /** What the call was answered; undefined while it is under way. */
  answer: Fields | undefined
}

export interface Tokens {
  bot: string
  app: string
  /** Scopes of the bot token. */
  scopes: Set<string>
}

export interface WebApi {
  readonly calls: Call[]
  faults: Faults
  limits: RateLimits
  handle(request: IncomingMessage, response: ServerResponse, method: string): Promise<void>
  /** Ends everything that hangs. */
  close(): void
}

/** Arguments that every method takes; the client adds them by itself. */
const COMMON = ['token', 'team_id']

export function createWebApi(
  world: World,
  tokens: Tokens,
  further: Methods,
  url: () => string,
  ticket: () => string,
): WebApi {
  const calls: Call[] = []
  const faults = createFaults()
  const limits = createRateLimits()
  const hanging = new Set<ServerResponse>()
  const { app } = world

  const methods: Methods = {
    ...chatMethods,
    ...streamMethods,
    ...sessionMethods,
    ...conversationMethods,
    ...userGroupMethods,
    ...further,
    'auth.test': {
      tier: 'special',
      args: [],
      run: () => ({
        url: 'https://double.slack.example/',
        team: 'Double',
        user: app.botName,
        team_id: app.teamId,
        user_id: app.botUserId,
        bot_id: app.botId,
        is_enterprise_install: false,
      }),
    },
    'apps.connections.open': { tier: 3, args: [], run: () => ({ url: ticket() }) },
  }

  /** The method, if the token may call it with these arguments; else Slack's refusal. */
  function admit(name: string, token: string | undefined, args: Fields): Method {
    const method = Object.hasOwn(methods, name) ? methods[name] : undefined
    if (!method) throw new Refusal('unknown_method', { req_method: name })
    if (!token) throw new Refusal('not_authed')
    if (token !== tokens.bot && token !== tokens.app) throw new Refusal('invalid_auth')
    const wantsAppToken = name === 'apps.connections.open'
    if (wantsAppToken !== (token === tokens.app)) throw new Refusal('not_allowed_token_type')
    if (wantsAppToken && args.token !== undefined) throw new Refusal('not_allowed_token_type')
    const scope = typeof method.scope === 'function' ? method.scope(args, world) : method.scope
    if (scope && !tokens.scopes.has(scope)) {
      throw new Refusal('missing_scope', { needed: scope, provided: [...tokens.scopes].join(',') })
    }
    const unknown = Object.keys(args).filter((key) => !method.args.includes(key) && !COMMON.includes(key))
    if (unknown.length) throw new Refusal('invalid_arguments', messages(`unknown arguments: ${unknown.join(', ')}`))
    return method
  }

  async function answerOf(name: string, token: string | undefined, args: Fields, fault?: Fault): Promise<Fields> {
    try {
      const method = admit(name, token, args)
      if (fault?.kind === 'error' && !fault.afterEffect) throw new Refusal(fault.code, fault.extra)
      const outcome = await method.run(args, { world, url: url(), scopes: tokens.scopes })
      if (fault?.kind === 'error') throw new Refusal(fault.code, fault.extra)
      return { ok: true, ...outcome }
    } catch (error) {
      if (error instanceof Refusal) return { ok: false, error: error.code, ...error.extra }
      throw error
    }
  }

  return {
    calls,
    faults,
    limits,
    async handle(request, response, name) {
      const body = await readBody(request)
      let args: Fields
      try {
        args = await readArguments(request, body)
      } catch (error) {
        if (error instanceof Refusal) return answerJson(response, { ok: false, error: error.code })
        throw error
      }
      const call: Call = { method: name, args, at: performance.now(), answer: undefined }
      calls.push(call)
      const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
      const token = bearer ?? (typeof args.token === 'string' ? args.token : undefined)

      const fault = faults.next(name)
      const tier = Object.hasOwn(methods, name) ? methods[name]!.tier : 'special'
      const wait = limits.take(name, tier, String(args.channel ?? ''))
      if (wait !== undefined || fault?.kind === 'rateLimited') {
        const retryAfter = wait ?? (fault?.kind === 'rateLimited' ? fault.retryAfter : undefined)
        call.answer = { ok: false, error: 'ratelimited' }
        response.writeHead(429, {
          'content-type': 'application/json',
          ...(retryAfter !== null && { 'retry-after': String(retryAfter ?? 1) }),
        })
        response.end(JSON.stringify(call.answer))
        return
      }
      if (fault && !('afterEffect' in fault && fault.afterEffect) && breaks(fault, response)) return
      const answer = await answerOf(name, token, args, fault)
      call.answer = answer
      if (fault?.kind === 'slow') await slow(fault.ms)
      if (fault && breaks(fault, response)) return
      const scopes = token === tokens.bot ? { 'x-oauth-scopes': [...tokens.scopes].join(',') } : {}
      answerJson(response, answer, scopes)
    },
    close() {
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
  }

  /** Answers in a broken way, if the fault is one of that sort. */
  function breaks(fault: Fault, response: ServerResponse): boolean {
    switch (fault.kind) {
      case 'http':
        response.writeHead(fault.status, { 'content-type': 'text/plain' })
        response.end('upstream error')
        return true
      case 'html':
        response.writeHead(200, { 'content-type': 'text/html' })
        response.end('<!DOCTYPE html><html><body>Sign in</body></html>')
        return true
      case 'hang':
        hanging.add(response)
        response.on('close', () => hanging.delete(response))
        return true
      case 'reset':
        response.destroy()
        return true
      default:
        return false
    }
  }
}
