import { checkBlock, checkText, refuse } from './blocks.ts'
import { Refusal } from './request.ts'
import type { Fields } from './world.ts'

const VIEW_FIELDS = ['type', 'title', 'submit', 'close', 'blocks', 'callback_id', 'private_metadata', 'external_id']
const VIEW_SWITCHES = ['clear_on_close', 'notify_on_close', 'submit_disabled']
const INPUT_FIELDS = ['type', 'block_id', 'label', 'element', 'optional', 'hint', 'dispatch_action']
const ELEMENT_FIELDS = ['type', 'action_id', 'initial_value', 'multiline', 'min_length', 'max_length', 'placeholder']
const LONGEST_INPUT = 3_000
const LARGEST_VIEW = 250_000

/** Refuses a modal as Slack does: `invalid_arguments` with a pointer to the place. */
export function checkView(view: unknown): asserts view is Fields {
  if (typeof view !== 'object' || view === null) throw new Refusal('invalid_arguments')
  try {
    checkModal(view as Fields)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'invalid_blocks') throw new Refusal('invalid_arguments', error.extra)
    throw error
  }
}

function checkModal(view: Fields): void {
  if (JSON.stringify(view).length > LARGEST_VIEW) throw new Refusal('view_too_large')
  if (view.type !== 'modal') refuse('must be a modal', '/view/type')
  known(view, [...VIEW_FIELDS, ...VIEW_SWITCHES], '/view')
  checkPlain(view.title, 24, '/view/title')
  for (const name of ['submit', 'close']) if (view[name]) checkPlain(view[name], 24, `/view/${name}`)
  checkLength(view.callback_id, 255, '/view/callback_id')
  checkLength(view.private_metadata, 3_000, '/view/private_metadata')
  const blocks = view.blocks as Fields[]
  if (!Array.isArray(blocks) || !blocks.length || blocks.length > 100) refuse('1 to 100 blocks', '/view/blocks')
  if (blocks.some(({ type }) => type === 'input') && !view.submit) refuse('submit is needed', '/view/submit')
  const ids = new Set<unknown>()
  blocks.forEach((block, index) => {
    const at = `/view/blocks/${index}`
    if (block.block_id !== undefined) {
      checkLength(block.block_id, 255, `${at}/block_id`)
      if (block.block_id === '' || ids.has(block.block_id)) refuse('invalid block_id', at)
      ids.add(block.block_id)
    }
    if (block.type === 'input') checkInput(block, at)
    else checkBlock(block, at)
  })
}

function checkInput(block: Fields, at: string): void {
  known(block, INPUT_FIELDS, at)
  checkPlain(block.label, 2_000, `${at}/label`)
  const element = block.element as Fields
  if (element?.type !== 'plain_text_input') refuse(`the double knows no ${element?.type}`, `${at}/element`)
  known(element, ELEMENT_FIELDS, `${at}/element`)
  checkLength(element.action_id, 255, `${at}/element/action_id`)
  if (element.initial_value === '') refuse('must be more than 0 characters', `${at}/element/initial_value`)
  const longest = Number(element.max_length ?? LONGEST_INPUT)
  if (longest < 1 || longest > LONGEST_INPUT) refuse('must be 1 to 3000', `${at}/element/max_length`)
  checkLength(element.initial_value, longest, `${at}/element/initial_value`)
}

function checkPlain(object: unknown, longest: number, at: string): void {
  checkText(object as Fields | undefined, longest, at)
  if ((object as Fields).type !== 'plain_text') refuse('must be plain_text', at)
}

function checkLength(value: unknown, longest: number, at: string): void {
  if (value !== undefined && (typeof value !== 'string' || value.length > longest)) {
    refuse(`must be less than ${longest + 1} characters`, at)
  }
}

function known(object: Fields, names: string[], at: string): void {
  for (const key of Object.keys(object)) if (!names.includes(key)) refuse(`unknown field: ${key}`, at)
}
