import { randomBytes } from 'node:crypto'
import { refusals } from './apiError.ts'
import type { Modal } from './modals.ts'
import type { Message, World } from './world.ts'

const FIRST_ANSWER_MS = 3_000
const TOKEN_MS = 15 * 60_000

/** A command, a click or a modal that was sent off, from the moment a person did it. */
export interface Interaction {
  id: string
  token: string
  kind: 'command' | 'component' | 'modal'
  channelId: string
  userId: string
  createdAt: number
  /** The callback type that answered first. */
  answeredWith?: number
  /** The message that `@original` means. */
  originalId?: string
  /** What only the person sees. */
  ephemeral: Message[]
  /** The modal that answered it, until it is sent off or closed. */
  modal?: Modal
}

export function createInteractions(world: World) {
  const byToken = new Map<string, Interaction>()
  return {
    create(kind: Interaction['kind'], channelId: string, userId: string): Interaction {
      const interaction: Interaction = {
        id: world.snowflake(),
        token: randomBytes(40).toString('base64url'),
        kind,
        channelId,
        userId,
        createdAt: world.now(),
        ephemeral: [],
      }
      byToken.set(interaction.token, interaction)
      return interaction
    },
    /** For the callback: known, within 3 seconds, and the first. */
    toAnswer(id: string, token: string): Interaction {
      const interaction = byToken.get(token)
      if (!interaction || interaction.id !== id) throw refusals.unknownInteraction()
      if (interaction.answeredWith !== undefined) throw refusals.alreadyAcknowledged()
      if (world.now() - interaction.createdAt > FIRST_ANSWER_MS) throw refusals.unknownInteraction()
      return interaction
    },
    /** For the webhook routes: answered, and not older than 15 minutes. */
    byWebhook(token: string): Interaction {
      const interaction = byToken.get(token)
      if (interaction?.answeredWith === undefined) throw refusals.unknownWebhook()
      if (world.now() - interaction.createdAt > TOKEN_MS) throw refusals.tokenExpired()
      return interaction
    },
    all: () => [...byToken.values()],
  }
}

export type Interactions = ReturnType<typeof createInteractions>
