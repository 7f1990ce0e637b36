import { randomUUID } from 'node:crypto'
import type { Methods } from './methods.ts'
import { Refusal, required } from './request.ts'
import { checkView } from './viewRules.ts'
import type { Fields, SlackUser, World } from './world.ts'

/** Slack's life of a trigger. */
const TRIGGER_MS = 3_000

/** A modal that stands open before somebody. */
export interface OpenView {
  id: string
  user: string
  view: Fields
  /** What stands in its inputs now, by block id. */
  values: Record<string, string>
  /** What the app found wrong with the last submission, by block id. */
  errors: Record<string, string>
  /** True when the last submission was not acknowledged: Slack shows that it had trouble connecting. */
  trouble: boolean
}

export interface Views {
  methods: Methods
  /** A trigger for something that somebody just did: it opens one view, within 3 seconds. */
  trigger(user: string): string
  /** Lets time pass for triggers, in milliseconds. */
  passTime(ms: number): void
  /** What stands open before somebody. */
  of(user: string): OpenView | undefined
  close(user: string): void
  /** The person types into the open view, by block id, and sends it off: the payload that the app is to get. */
  submit(user: SlackUser, typed: Record<string, string>): Fields
  /** What the app answered to a submission: the view closes, or shows what is wrong. */
  answered(user: string, acknowledged: boolean, response: unknown): void
}

/** Modals: triggers with their short life, `views.open`, and what people do in them. */
export function createViews(world: World): Views {
  const triggers = new Map<string, { user: string; until: number; isUsed: boolean }>()
  const open = new Map<string, OpenView>()
  let passed = 0
  const now = () => performance.now() + passed

  const views: Views = {
    methods: {
      'views.open': {
        tier: 4,
        args: ['trigger_id', 'interactivity_pointer', 'view'],
        run(args) {
          const trigger = triggers.get(required(args, 'trigger_id'))
          if (!trigger) throw new Refusal('invalid_trigger_id')
          if (now() > trigger.until) throw new Refusal('expired_trigger_id')
          if (trigger.isUsed) throw new Refusal('exchanged_trigger_id')
          checkView(args.view)
          trigger.isUsed = true
          const id = `V${randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase()}`
          const values = Object.fromEntries(
            inputsOf(args.view).map(({ block_id: block, element }) => {
              return [String(block), String((element as Fields).initial_value ?? '')]
            }),
          )
          open.set(trigger.user, { id, user: trigger.user, view: args.view, values, errors: {}, trouble: false })
          return { view: { ...args.view, id, hash: `${Date.now()}.double` } }
        },
      },
    },
    trigger(user) {
      const id = `1.2.${randomUUID().slice(0, 8)}`
      triggers.set(id, { user, until: now() + TRIGGER_MS, isUsed: false })
      return id
    },
    passTime(ms) {
      passed += ms
    },
    of: (user) => open.get(user),
    close: (user) => void open.delete(user),
    submit(user, typed) {
      const entry = open.get(user.id)
      if (!entry) throw new Error(`no view stands open before ${user.id}`)
      for (const block of Object.keys(typed)) {
        if (entry.values[block] === undefined) throw new Error(`the view has no input ${block}`)
      }
      Object.assign(entry.values, typed)
      checkTyped(entry)
      return submissionPayload(world, user, entry, views.trigger(user.id))
    },
    answered(user, acknowledged, response) {
      const entry = open.get(user)
      if (!entry) return
      const { response_action: action, errors } = (response ?? {}) as Fields
      entry.trouble = !acknowledged
      entry.errors = action === 'errors' ? (errors as Record<string, string>) : {}
      for (const block of Object.keys(entry.errors)) {
        if (entry.values[block] === undefined)
          throw new Error(`an error for the input ${block}, which the view has not`)
      }
      if (acknowledged && action !== 'errors') open.delete(user)
    },
  }
  return views
}

export function inputsOf(view: Fields): Fields[] {
  return (view.blocks as Fields[]).filter(({ type }) => type === 'input')
}

/** Slack does not send a view off while something is missing or too long in it. */
function checkTyped({ view, values }: OpenView): void {
  for (const { block_id: block, optional, element } of inputsOf(view)) {
    const value = values[String(block)]!
    if (optional !== true && value === '') throw new Error(`Slack wants something in ${block}`)
    if (value.length > Number((element as Fields).max_length ?? 3_000)) throw new Error(`too much is in ${block}`)
    if ((element as Fields).multiline !== true && value.includes('\n')) throw new Error(`${block} is a single line`)
  }
}

function submissionPayload({ app }: World, user: SlackUser, { id, view, values }: OpenView, trigger: string): Fields {
  const state = Object.fromEntries(
    inputsOf(view).map(({ block_id: block, element }) => {
      const { action_id: action, type } = element as Fields
      // An empty input comes as null.
      return [String(block), { [String(action)]: { type, value: values[String(block)] || null } }]
    }),
  )
  return {
    type: 'view_submission',
    team: { id: app.teamId, domain: 'double' },
    user: { id: user.id, username: user.name, name: user.name, team_id: user.team },
    api_app_id: app.appId,
    token: 'legacy',
    trigger_id: trigger,
    view: {
      ...view,
      id,
      team_id: app.teamId,
      state: { values: state },
      hash: `${Date.now()}.double`,
      root_view_id: id,
      previous_view_id: null,
      app_id: app.appId,
      app_installed_team_id: app.teamId,
      bot_id: app.botId,
    },
    response_urls: [],
    is_enterprise_install: false,
    enterprise: null,
  }
}
