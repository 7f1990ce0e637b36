import {
  type APILabelComponent,
  type APIModalInteractionResponseCallbackData,
  ComponentType,
  type ModalSubmitInteraction,
  TextInputStyle,
} from 'discord.js'
import { discordId, discordPlain } from '../../render/discord.ts'
import { cut } from '../../render/graphemes.ts'
import { PlatformError } from '../../shared/errors.ts'
import type { Dialog, DialogField } from '../platform.ts'

/** What Discord takes in a modal (facts/discord.md b, components). */
const LIMITS = { title: 45, label: 45, description: 100, parts: 5, input: 4_000, id: 100 } as const

/**
 * A dialog as Discord opens it. Its buttons have Discord's own words. Above five fields there is no room for `intro`, which
 * then stands, cut, below the first label.
 *
 * Throws a `PlatformError` of the kind `tooLong` for what does not fit: a cut command would be another command.
 */
export function modalOf(dialog: Dialog): APIModalInteractionResponseCallbackData {
  const { action, value, title, intro, fields } = dialog
  const id = discordId(action, value)
  const names = new Set(fields.map(({ name }) => name))
  const fits =
    id.length <= LIMITS.id &&
    fields.length >= 1 &&
    fields.length <= LIMITS.parts &&
    names.size === fields.length &&
    fields.every((one) => one.name !== '' && one.name.length <= LIMITS.id && one.value.length <= LIMITS.input)
  if (!fits) throw new PlatformError('tooLong', 'modal', `the dialog "${title}" does not fit into a modal of Discord`)
  const inputs = fields.map(inputFor)
  const above = intro && fields.length < LIMITS.parts
  if (intro && !above) inputs[0]!.description = cut(intro, LIMITS.description)
  return {
    custom_id: id,
    title: cut(title, LIMITS.title),
    components: [
      ...(above ? [{ type: ComponentType.TextDisplay, content: discordPlain(intro) } as const] : []),
      ...inputs,
    ],
  }
}

function inputFor({ name, label, value, multiline, required }: DialogField): APILabelComponent {
  return {
    type: ComponentType.Label,
    label: cut(label, LIMITS.label),
    component: {
      type: ComponentType.TextInput,
      custom_id: name,
      // A line of text would lose its breaks.
      style: multiline || value.includes('\n') ? TextInputStyle.Paragraph : TextInputStyle.Short,
      required,
      max_length: LIMITS.input,
      ...(value !== '' && { value }),
    },
  }
}

/** By the names of the fields, as Discord hands it on: it strips nothing of what was typed. */
export function typedFields({ fields }: ModalSubmitInteraction): Record<string, string> {
  return Object.fromEntries(
    [...fields.fields].map(([name, field]) => [
      name,
      'value' in field && typeof field.value === 'string' ? field.value : '',
    ]),
  )
}
