/** What people do with the bot's commands, buttons and modals. Each gives the interaction, in which its answers show. */
import type { Context } from './context.ts'
import type { Interaction } from './interactions.ts'
import { sentOff } from './modals.ts'
import { interactionChannel, newMessage } from './payloads.ts'
import type { Channel, Message } from './world.ts'
import { CHANNEL } from './world.ts'

export function createHands(context: Context) {
  const { world, gateway, interactions } = context

  function send(interaction: Interaction, type: number, extra: object): Interaction {
    const channel = channelOf(interaction.channelId)
    const user = world.users.get(interaction.userId)!
    const member = world.member(channel.guild_id, user.id)
    const rights = (of: string) => String(BigInt.asUintN(64, world.permissions(channel, of)))
    gateway.dispatch('INTERACTION_CREATE', {
      id: interaction.id,
      application_id: world.bot.id,
      type,
      token: interaction.token,
      version: 1,
      channel_id: channel.id,
      channel: interactionChannel(world, channel, user.id),
      locale: 'en-US',
      app_permissions: rights(world.bot.id),
      entitlements: [],
      authorizing_integration_owners: channel.guild_id ? { 0: channel.guild_id } : {},
      context: channel.guild_id ? 0 : 1,
      attachment_size_limit: 10_485_760,
      ...(channel.guild_id ? { guild_id: channel.guild_id, guild: { id: channel.guild_id, features: [] } } : {}),
      ...(channel.guild_id ? { guild_locale: 'en-US' } : {}),
      ...(member ? { member: { ...member, permissions: rights(user.id) } } : { user }),
      ...extra,
    })
    return interaction
  }

  function channelOf(id: string): Channel {
    const channel = world.channels.get(id)
    if (!channel) throw new Error(`the double has no channel ${id}`)
    return channel
  }

  /** A message as this person sees it; those for the person alone are in no channel. */
  function seen(userId: string, channelId: string, messageId: string): Message | undefined {
    const alone = interactions.all().filter((one) => one.userId === userId)
    return (
      world.find(channelId, messageId)?.message ??
      alone.flatMap(({ ephemeral }) => ephemeral).find(({ id }) => id === messageId)
    )
  }

  function press(userId: string, message: Message, customId: string): Interaction {
    const interaction = interactions.create('component', message.channel_id, userId)
    interaction.originalId = message.id
    return send(interaction, 3, { message, data: { id: 1, custom_id: customId, component_type: 2 } })
  }

  return {
    /** `/name` with its string options. */
    slash(userId: string, channelId: string, name: string, options: Record<string, string> = {}): Interaction {
      const interaction = interactions.create('command', channelId, userId)
      const given = Object.entries(options).map(([key, value]) => ({ name: key, type: 3, value }))
      return send(interaction, 2, { data: { id: world.snowflake(), name, type: 1, options: given } })
    },
    /** Presses a button by its label or custom_id, also one on words for this person alone. */
    click(userId: string, channelId: string, messageId: string, button: string): Interaction {
      const message = seen(userId, channelId, messageId)
      const found = message?.components
        .flatMap(({ components }) => components)
        .find(({ label, custom_id }) => label === button || custom_id === button)
      if (!message || !found) throw new Error(`message ${messageId} has no button "${button}"`)
      return press(userId, message, found.custom_id!)
    },
    /** Presses a button that the bot never made, on a message of the bot's that the bot never wrote. */
    forgeClick(userId: string, channelId: string, customId: string): Interaction {
      return press(userId, newMessage(world, channelOf(channelId), { author: world.bot, content: 'made up' }), customId)
    },
    /** Sends off the modal that answered `opener`. Inputs that are not named stay as they are. */
    sendOff(opener: Interaction, typed: Record<string, string> = {}): Interaction {
      const { modal, channelId, userId, originalId } = opener
      if (!modal) throw new Error('no modal is open')
      const data = sentOff(modal, typed)
      delete opener.modal
      const message = originalId ? seen(userId, channelId, originalId) : undefined
      const interaction = interactions.create('modal', channelId, userId)
      if (originalId) interaction.originalId = originalId
      return send(interaction, 5, { ...(message ? { message } : {}), data })
    },
    /** All that was said to this person alone, oldest first. */
    saidAlone: (userId: string): Message[] =>
      interactions
        .all()
        .filter((one) => one.userId === userId)
        .flatMap(({ ephemeral }) => ephemeral)
        .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1)),
    /** A channel of a server that the bot is not told of, as where people have installed it for themselves. */
    foreignChannel(name: string): string {
      const guild = world.newGuild(name)
      return world.newChannel({ type: CHANNEL.text, name, guild_id: guild.id, parent_id: null, position: 1 }).id
    },
  }
}
