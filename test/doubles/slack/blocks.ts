import { messages, Refusal } from './request.ts'
import type { Fields } from './world.ts'

/** Sum of all markdown blocks of one message. */
const MARKDOWN_CHARACTERS = 12_000
/** Undocumented; reported by several apps. */
const ALL_CHARACTERS = 13_200

const TASK_FIELDS = ['task_id', 'title', 'status', 'details', 'output', 'sources']
const TASK_STATES = ['in_progress', 'complete', 'error']
/** Documented for chunks of a stream only; taken for blocks, too, so that nobody relies on more. */
const TASK_TITLE = 256
const TASKS_PER_PLAN = 50

/** Fields that Slack takes for each block; anything else is a mistake of ours. */
const BLOCK_FIELDS: Record<string, string[]> = {
  section: ['text', 'fields', 'accessory', 'expand'],
  markdown: ['text'],
  header: ['text'],
  context: ['elements'],
  actions: ['elements'],
  divider: [],
  rich_text: ['elements'],
  table: ['rows', 'column_settings'],
  image: ['image_url', 'slack_file', 'alt_text', 'title'],
  task_card: TASK_FIELDS,
  plan: ['title', 'tasks'],
}
const BUTTON_FIELDS = ['type', 'text', 'action_id', 'value', 'url', 'style', 'confirm', 'accessibility_label']

/** Refuses what Slack documents as refused, with its pointer to the place; also what this workspace does not take. */
export function checkBlocks(blocks: unknown, refused?: ReadonlySet<unknown>): asserts blocks is Fields[] {
  if (!Array.isArray(blocks)) throw new Refusal('invalid_blocks_format')
  if (blocks.length > 50) refuse('no more than 50 items allowed', '/blocks')
  const ids = new Set<string>()
  let markdown = 0
  let all = 0
  blocks.forEach((block: Fields, index) => {
    const at = `/blocks/${index}`
    const allowed = BLOCK_FIELDS[String(block.type)]
    if (!allowed || refused?.has(block.type)) refuse(`unsupported type: ${block.type}`, at)
    for (const key of Object.keys(block)) {
      if (key !== 'type' && key !== 'block_id' && !allowed.includes(key)) refuse(`unknown field: ${key}`, at)
    }
    if (typeof block.block_id === 'string') {
      if (block.block_id.length > 255 || ids.has(block.block_id)) refuse('invalid block_id', at)
      ids.add(block.block_id)
    }
    all += JSON.stringify(block).length
    if (block.type === 'markdown') {
      if (typeof block.text !== 'string' || block.text === '') refuse('must be a non-empty string', `${at}/text`)
      markdown += block.text.length
      if (markdown > MARKDOWN_CHARACTERS)
        refuse(`must be less than ${MARKDOWN_CHARACTERS + 1} characters`, `${at}/text`)
    }
    checkBlock(block, at)
  })
  const types = new Set(blocks.map(({ type }: Fields) => type))
  if (types.has('plan') && types.has('task_card')) refuse('task_card next to a plan', '/blocks')
  if (all > ALL_CHARACTERS + blocks.length * 60) throw new Refusal('msg_blocks_too_long')
}

export function checkBlock(block: Fields, at: string): void {
  switch (block.type) {
    case 'section': {
      const fields = (block.fields ?? []) as Fields[]
      if (!block.text && !fields.length) refuse('missing required field: text', at)
      if (block.text) checkText(block.text as Fields, 3_000, `${at}/text`)
      if (fields.length > 10) refuse('no more than 10 items allowed', `${at}/fields`)
      for (const field of fields) checkText(field, 2_000, `${at}/fields`)
      return
    }
    case 'header':
      checkText(block.text as Fields, 150, `${at}/text`)
      if ((block.text as Fields).type !== 'plain_text') refuse('must be plain_text', `${at}/text`)
      return
    case 'context': {
      const elements = (block.elements ?? []) as Fields[]
      if (!elements.length || elements.length > 10) refuse('1 to 10 elements', `${at}/elements`)
      for (const element of elements) if (element.type !== 'image') checkText(element, 3_000, `${at}/elements`)
      return
    }
    case 'actions':
      checkActions((block.elements ?? []) as Fields[], `${at}/elements`)
      return
    case 'table': {
      const rows = (block.rows ?? []) as unknown[][]
      if (!rows.length || rows.length > 100) refuse('1 to 100 rows', `${at}/rows`)
      if (rows.some((row) => row.length > 20)) refuse('no more than 20 cells', `${at}/rows`)
      if (JSON.stringify(rows.map((row) => row.map((cell) => (cell as Fields).text))).length > 10_000) {
        refuse('must be less than 10001 characters', `${at}/rows`)
      }
      return
    }
    case 'task_card':
      checkTask(block, TASK_STATES, at)
      return
    case 'plan': {
      checkTitle(block.title, `${at}/title`)
      const tasks = block.tasks as Fields[]
      if (!Array.isArray(tasks) || !tasks.length || tasks.length > TASKS_PER_PLAN) {
        refuse(`1 to ${TASKS_PER_PLAN} tasks`, `${at}/tasks`)
      }
      for (const [index, task] of tasks.entries()) checkTask(task, ['pending', ...TASK_STATES], `${at}/tasks/${index}`)
      if (new Set(tasks.map(({ task_id: id }) => id)).size < tasks.length) refuse('repeated task_id', `${at}/tasks`)
    }
  }
}

function checkTask(task: Fields, states: string[], at: string): void {
  if (task.type !== 'task_card') refuse('must be a task_card', at)
  for (const key of Object.keys(task)) {
    if (key !== 'type' && key !== 'block_id' && !TASK_FIELDS.includes(key)) refuse(`unknown field: ${key}`, at)
  }
  const { task_id: id, status } = task
  if (typeof id !== 'string' || id === '' || id.length > 255) refuse('invalid task_id', `${at}/task_id`)
  if (!states.includes(String(status))) refuse('invalid status', `${at}/status`)
  checkTitle(task.title, `${at}/title`)
  for (const name of ['details', 'output']) {
    if (task[name] !== undefined) checkRichText(task[name] as Fields, `${at}/${name}`)
  }
  const sources = (task.sources ?? []) as Fields[]
  if (!Array.isArray(sources) || sources.some(({ type, url, text }) => type !== 'url' || !url || !text)) {
    refuse('must be url sources', `${at}/sources`)
  }
}

/** Titles are strings and no text objects. */
function checkTitle(title: unknown, at: string): void {
  if (typeof title !== 'string' || title === '') refuse('must be a non-empty string', at)
  if (title.length > TASK_TITLE) refuse(`must be less than ${TASK_TITLE + 1} characters`, at)
}

const RICH_PARTS = ['rich_text_section', 'rich_text_preformatted', 'rich_text_quote', 'rich_text_list']

function checkRichText(rich: Fields, at: string): void {
  const parts = rich?.elements as Fields[] | undefined
  if (rich?.type !== 'rich_text' || !Array.isArray(parts) || !parts.length) refuse('must be a rich_text', at)
  for (const { type, elements } of parts) {
    const inner = elements as Fields[]
    if (!RICH_PARTS.includes(String(type)) || !Array.isArray(inner) || !inner.length) refuse('invalid rich_text', at)
    if (inner.some((one) => one.type === 'text' && !one.text)) refuse('must be a non-empty string', at)
  }
}

function checkActions(elements: Fields[], at: string): void {
  if (!elements.length || elements.length > 25) refuse('1 to 25 elements', at)
  const ids = new Set<unknown>()
  for (const element of elements) {
    if (element.type !== 'button') continue
    for (const key of Object.keys(element)) if (!BUTTON_FIELDS.includes(key)) refuse(`unknown field: ${key}`, at)
    checkText(element.text as Fields, 75, `${at}/text`)
    const { action_id: id, value, style } = element
    if (typeof id !== 'string' || id === '' || id.length > 255 || ids.has(id)) refuse('invalid action_id', at)
    ids.add(id)
    if (value !== undefined && (typeof value !== 'string' || value.length > 2_000)) refuse('invalid value', at)
    if (style !== undefined && style !== 'primary' && style !== 'danger') refuse('invalid style', at)
  }
}

export function checkText(object: Fields | undefined, longest: number, at: string): void {
  const value = object?.text
  if (object?.type !== 'mrkdwn' && object?.type !== 'plain_text') refuse('must be a text object', at)
  if (typeof value !== 'string' || value === '') refuse('must be a non-empty string', at)
  if (value.length > longest) refuse(`must be less than ${longest + 1} characters`, at)
}

export function refuse(what: string, pointer: string): never {
  const detail = messages(`${what} [json-pointer:${pointer}]`)
  throw new Refusal('invalid_blocks', { ...detail, errors: [`${what} [json-pointer:${pointer}]`] })
}
