import { formError } from './apiError.ts'

/** An open modal, as the person before it sees it. */
export interface Modal {
  customId: string
  title: string
  /** Text between the inputs. */
  texts: string[]
  inputs: ModalInput[]
}

export interface ModalInput {
  name: string
  label: string
  description: string | undefined
  value: string
  multiline: boolean
  required: boolean
  longest: number
}

type Part = Record<string, unknown>

/** Reads and checks what a callback of type 9 opens. */
export function readModal(data: Part): Modal {
  const parts = listOf(data.components, 'data.components')
  if (parts.length < 1 || parts.length > 5) throw wrong('data.components', 'Must be between 1 and 5 in length.')
  const inputs = parts.filter(({ type }) => type === 18).map(readLabel)
  const texts = parts.filter(({ type }) => type === 10).map(({ content }) => text(content, 'content', 1, 4_000))
  if (inputs.length + texts.length !== parts.length) throw wrong('data.components', 'A modal takes labels and texts.')
  const names = new Set(inputs.map(({ name }) => name))
  if (names.size !== inputs.length) {
    throw formError('data.components', 'COMPONENT_CUSTOM_ID_DUPLICATED', 'Component custom id cannot be duplicated')
  }
  return {
    customId: text(data.custom_id, 'data.custom_id', 1, 100),
    title: text(data.title, 'data.title', 1, 45),
    texts,
    inputs,
  }
}

function readLabel({ label, description, component }: Part): ModalInput {
  const input = (component ?? {}) as Part
  if (input.type !== 4 || (input.style !== 1 && input.style !== 2))
    throw wrong('component', 'A text input has a style.')
  // Labels of inputs are the old way, beside which a label around it is refused.
  if ('label' in input) throw wrong('component.label', 'An input inside of a label has none of its own.')
  const longest = Number(input.max_length ?? 4_000)
  if (longest < 1 || longest > 4_000) throw wrong('component.max_length', 'int value should be from 1 to 4000.')
  const value = input.value === undefined ? '' : text(input.value, 'component.value', 1, longest)
  const multiline = input.style === 2
  if (!multiline && value.includes('\n')) throw wrong('component.value', 'A short input is one line.')
  return {
    name: text(input.custom_id, 'component.custom_id', 1, 100),
    label: text(label, 'label', 1, 45),
    description: description === undefined ? undefined : text(description, 'description', 1, 100),
    value,
    multiline,
    required: input.required !== false,
    longest,
  }
}

/** What a person's client sends when the modal is sent off; it lets nobody send what the inputs don't allow. */
export function sentOff(modal: Modal, typed: Record<string, string>) {
  for (const name of Object.keys(typed)) {
    if (!modal.inputs.some((input) => input.name === name)) throw new Error(`the modal has no input "${name}"`)
  }
  const texts = modal.texts.map((_, index) => ({ type: 10, id: index + 1 }))
  const inputs = modal.inputs.map(({ name, value: initial, required, longest, multiline }, index) => {
    const value = typed[name] ?? initial
    if (required && value === '') throw new Error(`"${name}" must not be empty`)
    if ([...value].length > longest) throw new Error(`"${name}" takes ${longest} characters`)
    if (!multiline && value.includes('\n')) throw new Error(`"${name}" is one line`)
    const id = texts.length + 2 * index + 1
    return { type: 18, id, component: { type: 4, id: id + 1, custom_id: name, value } }
  })
  return { custom_id: modal.customId, components: [...texts, ...inputs] }
}

function listOf(value: unknown, path: string): Part[] {
  if (!Array.isArray(value)) throw wrong(path, 'This field is required')
  return value as Part[]
}

function text(value: unknown, path: string, shortest: number, longest: number): string {
  if (typeof value !== 'string') throw wrong(path, 'This field is required')
  const length = [...value].length
  if (length < shortest || length > longest) throw wrong(path, `Must be between ${shortest} and ${longest} in length.`)
  return value
}

function wrong(path: string, message: string) {
  return formError(path, 'BASE_TYPE_BAD_LENGTH', message)
}
