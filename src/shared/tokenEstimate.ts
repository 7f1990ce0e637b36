import { type Message, textOf } from './message.ts'

/**
 * Tokens a character stands for, by class. Measured against the o200k vocabulary: English +7 %, TypeScript +13 %, Chinese
 * −2 %, Japanese +2 %, JSON −17 %, Polish −20 %, logs −28 %, base64 −57 %; what real usage reports corrects the rest.
 */
const PER_DIGIT = 1 / 2
const PER_ASCII = 1 / 4
const PER_CJK = 0.75
const PER_OTHER = 1 / 1.6
/** Role, separators and ids of a message, and of a call. */
export const PER_MESSAGE = 4
/** A picture of ordinary size. */
const PER_IMAGE = 1_200

/** Tokens of a text, estimated in one pass over its characters: no vocabulary, so no input makes it slow. */
export function estimateTokens(text: string): number {
  let tokens = 0
  for (let at = 0; at < text.length; at++) tokens += tokensOfUnit(text.charCodeAt(at))
  return Math.ceil(tokens)
}

function tokensOfUnit(unit: number): number {
  if (unit < 0x80) return unit >= 0x30 && unit <= 0x39 ? PER_DIGIT : PER_ASCII
  return isCjk(unit) ? PER_CJK : PER_OTHER
}

/** Kana, ideographs, Hangul, and the full-width forms and punctuation that go with them. */
function isCjk(unit: number): boolean {
  return (
    (unit >= 0x3000 && unit <= 0x9fff) ||
    (unit >= 0xac00 && unit <= 0xd7af) ||
    (unit >= 0xf900 && unit <= 0xfaff) ||
    (unit >= 0xff00 && unit <= 0xffef)
  )
}

/** Tokens of a message as the model gets it: text, pictures, calls, and the reasoning that goes back with it. */
export function messageTokens(message: Message): number {
  let tokens = PER_MESSAGE + estimateTokens(textOf(message))
  if (Array.isArray(message.content)) {
    tokens += PER_IMAGE * message.content.filter(({ type }) => type === 'image_url').length
  }
  if (message.role !== 'assistant') return tokens
  for (const { function: call } of message.tool_calls ?? []) {
    tokens += PER_MESSAGE + estimateTokens(call.name) + estimateTokens(call.arguments)
  }
  return tokens + estimateTokens(message.reasoning?.text ?? '')
}
