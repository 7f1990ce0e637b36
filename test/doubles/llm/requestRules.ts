/**
 * What OpenAI's chat completions refuse in a request: the rules of history, tools and fields that the double enforces and
 * that property tests judge by. Written apart from `src/client/history.ts` on purpose: one checks the other.
 */

export interface RequestProblem {
  message: string
  param: string
}

type Json = Record<string, unknown>

/** Top-level fields that the API documents; anything else is refused as an unknown argument. */
const KNOWN_FIELDS = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'temperature',
  'top_p',
  'n',
  'stop',
  'seed',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'max_tokens',
  'max_completion_tokens',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'reasoning_effort',
  'service_tier',
  'store',
  'metadata',
  'modalities',
  'verbosity',
])

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/
const LONGEST_CALL_ID = 40
const MOST_TOOLS = 128

/** Everything that is wrong with a request body, in the order in which it stands; empty when OpenAI would take it. */
export function requestProblems(body: unknown): RequestProblem[] {
  if (!isObject(body)) return [{ message: 'We could not parse the JSON body of your request.', param: '' }]
  return [
    ...fieldProblems(body),
    ...toolProblems(body.tools, body),
    ...(Array.isArray(body.messages)
      ? historyProblems(body.messages)
      : [{ message: "Missing required parameter: 'messages'.", param: 'messages' }]),
  ]
}

function fieldProblems(body: Json): RequestProblem[] {
  const problems: RequestProblem[] = []
  for (const field of Object.keys(body)) {
    if (!KNOWN_FIELDS.has(field))
      problems.push({ message: `Unrecognized request argument supplied: ${field}`, param: field })
  }
  if (typeof body.model !== 'string' || body.model === '') {
    problems.push({ message: 'you must provide a model parameter', param: 'model' })
  }
  if (body.stream_options !== undefined && body.stream !== true) {
    problems.push({ message: "'stream_options' is only allowed when 'stream' is enabled.", param: 'stream_options' })
  }
  if (typeof body.prompt_cache_key === 'string' && body.prompt_cache_key.length > 64) {
    problems.push({ message: "Invalid 'prompt_cache_key': string too long (at most 64).", param: 'prompt_cache_key' })
  }
  if (typeof body.temperature === 'number' && (body.temperature < 0 || body.temperature > 2)) {
    problems.push({ message: "Invalid 'temperature': expected a value between 0 and 2.", param: 'temperature' })
  }
  return problems
}

function toolProblems(tools: unknown, body: Json): RequestProblem[] {
  if (tools === undefined) {
    return body.tool_choice === undefined && body.parallel_tool_calls === undefined
      ? []
      : [{ message: "'tool_choice' is only allowed when 'tools' are specified.", param: 'tool_choice' }]
  }
  if (!Array.isArray(tools) || tools.length === 0) return [{ message: "[] is too short - 'tools'", param: 'tools' }]
  const problems: RequestProblem[] = []
  if (tools.length > MOST_TOOLS)
    problems.push({ message: `Invalid 'tools': array too long (${tools.length}).`, param: 'tools' })
  const names = new Set<unknown>()
  tools.forEach((tool, at) => {
    const param = `tools[${at}].function`
    const { name, description, parameters } = isObject(tool) && isObject(tool.function) ? tool.function : ({} as Json)
    if (!isObject(tool) || tool.type !== 'function')
      problems.push({ message: 'Invalid tool type.', param: `tools[${at}].type` })
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
      problems.push({
        message: `Invalid '${param}.name': ${JSON.stringify(name)} does not match pattern.`,
        param: `${param}.name`,
      })
    }
    if (names.has(name))
      problems.push({ message: `Tool names must be unique: ${String(name)}`, param: `${param}.name` })
    names.add(name)
    if (typeof description === 'string' && description.length > 1024) {
      problems.push({ message: `Invalid '${param}.description': string too long.`, param: `${param}.description` })
    }
    const fault = schemaFault(parameters)
    if (fault)
      problems.push({
        message: `Invalid schema for function '${String(name)}': ${fault}`,
        param: `${param}.parameters`,
      })
  })
  return problems
}

/** The faults of a parameter schema that OpenAI refuses even without strict mode; `null` when it is sound. */
export function schemaFault(schema: unknown, path: string[] = []): string | null {
  const where = `In context=(${path.map((step) => `'${step}'`).join(', ')})`
  if (path.length === 0) {
    if (schema === undefined) return null
    if (!isObject(schema) || schema.type !== 'object') return `schema must be a JSON Schema of 'type: "object"'`
    if (!isObject(schema.properties)) return 'object schema missing properties.'
    for (const word of ['oneOf', 'anyOf', 'allOf', 'enum', 'not']) {
      if (schema[word] !== undefined) return `schema must have type 'object' and not have '${word}' at the top level.`
    }
  }
  if (typeof schema === 'boolean') return null
  if (!isObject(schema)) return `${where}, ${JSON.stringify(schema)} is not of type 'object', 'boolean'.`
  if (schema.type === 'array' && schema.items === undefined) return `${where}, array schema missing items.`
  if (schema.required !== undefined && !Array.isArray(schema.required)) return `${where}, 'required' must be an array.`
  if (isObject(schema.properties)) {
    for (const [name, property] of Object.entries(schema.properties)) {
      const fault = schemaFault(property, [...path, 'properties', name])
      if (fault) return fault
    }
  }
  if (isObject(schema.items)) return schemaFault(schema.items, [...path, 'items'])
  return null
}

/** What OpenAI, and the stricter of its imitators, refuse in `messages`. */
export function historyProblems(messages: readonly unknown[]): RequestProblem[] {
  if (messages.length === 0) return [{ message: "Invalid 'messages': empty array.", param: 'messages' }]
  const problems: RequestProblem[] = []
  const usedIds = new Set<string>()
  let open: string[] = []
  let afterCalls = false
  messages.forEach((message, at) => {
    const param = `messages.[${at}]`
    const refuse = (text: string, field = 'role') => problems.push({ message: text, param: `${param}.${field}` })
    if (!isObject(message)) {
      refuse('Invalid message: expected an object.')
      return
    }
    if (JSON.stringify(message).match(/\\u[dD][89a-fA-F]/)) refuse('Invalid text: lone surrogate.', 'content')
    if (message.role === 'tool') {
      if (!afterCalls) {
        refuse(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        )
      } else {
        const index = open.indexOf(String(message.tool_call_id))
        if (index < 0)
          refuse(`Invalid 'tool_call_id': ${String(message.tool_call_id)} answers no open call.`, 'tool_call_id')
        else open.splice(index, 1)
      }
      toolContentProblems(message.content, refuse)
      return
    }
    if (open.length > 0) {
      refuse(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
          `The following tool_call_ids did not have response messages: ${open.join(', ')}`,
      )
    }
    open = []
    afterCalls = false
    if (message.role === 'assistant') {
      const calls = assistantProblems(message, usedIds, refuse)
      open = calls
      afterCalls = calls.length > 0
    } else if (message.role === 'system' || message.role === 'developer' || message.role === 'user') {
      speakerProblems(message, refuse)
    } else {
      refuse(
        `Invalid value: '${String(message.role)}'. Supported values are: 'system', 'assistant', 'user', 'tool', 'developer'.`,
      )
    }
  })
  if (open.length > 0) {
    problems.push({
      message:
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${open.join(', ')}`,
      param: 'messages',
    })
  }
  return problems
}

type Refuse = (message: string, field?: string) => void

function toolContentProblems(content: unknown, refuse: Refuse): void {
  if (Array.isArray(content)) {
    if (content.some((part) => isObject(part) && part.type === 'image_url')) {
      refuse("Image URLs are only allowed for messages with role 'user'.", 'content')
    }
  } else if (typeof content !== 'string') refuse('Invalid type for content: expected a string.', 'content')
  else if (content === '') refuse('Invalid content: a tool result must not be empty.', 'content')
}

/** OpenAI's, and those under which other servers want reasoning back. */
const ASSISTANT_FIELDS = new Set([
  ...['role', 'content', 'tool_calls', 'refusal', 'name'],
  ...['reasoning_content', 'reasoning', 'reasoning_details'],
])

function assistantProblems(message: Json, usedIds: Set<string>, refuse: Refuse): string[] {
  const { content, tool_calls: calls } = message
  for (const field of Object.keys(message)) {
    if (!ASSISTANT_FIELDS.has(field)) {
      refuse(`Unknown parameter: '${field}'.`, field)
    }
  }
  if (calls === undefined) {
    if (typeof content !== 'string') refuse("Invalid value for 'content': expected a string, got null.", 'content')
    else if (content.trim() === '') refuse('Invalid content: the assistant message is empty.', 'content')
    return []
  }
  if (content !== null && content !== undefined && typeof content !== 'string')
    refuse('Invalid type for content.', 'content')
  if (content === '')
    refuse("Invalid content: the text content blocks must be non-empty; use null beside 'tool_calls'.", 'content')
  if (!Array.isArray(calls) || calls.length === 0) {
    refuse("Invalid 'tool_calls': empty array. Expected an array with minimum length 1.", 'tool_calls')
    return []
  }
  return calls.map((call, index) => {
    const field = `tool_calls[${index}]`
    const { id, type, function: called } = isObject(call) ? call : ({} as Json)
    const { name, arguments: args } = isObject(called) ? called : ({} as Json)
    if (type !== 'function') refuse("Invalid value for 'type': expected 'function'.", `${field}.type`)
    if (typeof id !== 'string' || id === '' || id.length > LONGEST_CALL_ID)
      refuse(`Invalid 'id': ${String(id)}`, `${field}.id`)
    if (usedIds.has(String(id))) refuse(`Duplicate tool call id: ${String(id)}`, `${field}.id`)
    usedIds.add(String(id))
    if (typeof name !== 'string' || !TOOL_NAME.test(name)) {
      refuse(
        `Invalid '${field}.function.name': ${JSON.stringify(name)} does not match pattern.`,
        `${field}.function.name`,
      )
    }
    if (!isJsonObject(args))
      refuse('Invalid arguments: expected the JSON text of an object.', `${field}.function.arguments`)
    return String(id)
  })
}

function speakerProblems(message: Json, refuse: Refuse): void {
  const { role, content } = message
  if (Array.isArray(content)) {
    if (role !== 'user' && content.some((part) => isObject(part) && part.type !== 'text')) {
      refuse("Image URLs are only allowed for messages with role 'user'.", 'content')
    }
  } else if (typeof content !== 'string') refuse('Invalid type for content: expected a string or parts.', 'content')
}

function isJsonObject(text: unknown): boolean {
  if (typeof text !== 'string') return false
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
