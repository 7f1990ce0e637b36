/**
 * Slack's message text as the person meant it. Slack escapes `&`, `<` and `>` and writes everything special as `<…>`
 * tokens, so what stands between the tokens is decoded once, after they are taken apart; a token in escaped form is text.
 */

export interface InboundNames {
  /** The bot's own user id; mentions of it are taken out. */
  bot: string
  /** The name of a person if it is known without asking Slack. */
  nameOf(id: string): string | undefined
}

/** Decoded text: entities, mentions as `@name`, channels as `#name`, links as `label (address)`. */
export function decodeText(text: string, names: InboundNames): string {
  const plain = text
    .split(/(<[^<>]*>)/)
    .map((part, index) => (index % 2 ? decodeToken(part.slice(1, -1), names) : unescapeText(part)))
    .join('')
  return tidyAddress(plain)
}

/** True when the text names the bot itself; `@here` and the like do not. */
export function mentions(text: string, bot: string): boolean {
  return text.includes(`<@${bot}>`) || text.includes(`<@${bot}|`)
}

/** Stands where the bot's mention was, until the blanks around it are settled. Slack's text never holds this character. */
const GAP = '\u0000'

function decodeToken(token: string, { bot, nameOf }: InboundNames): string {
  const bar = token.indexOf('|')
  const target = bar < 0 ? token : token.slice(0, bar)
  const label = bar < 0 ? undefined : unescapeText(token.slice(bar + 1))
  if (target.startsWith('@')) {
    const id = target.slice(1)
    return id === bot ? GAP : `@${nameOf(id) ?? (label || id)}`
  }
  if (target.startsWith('#')) return `#${label || target.slice(1)}`
  if (target.startsWith('!')) {
    if (target.startsWith('!subteam^')) return label ? `@${label.replace(/^@/, '')}` : '@group'
    if (target.startsWith('!date^')) return label ?? ''
    return `@${(label || target.slice(1)).replace(/^@/, '')}`
  }
  const address = unescapeText(target)
  if (!label || address === label || address.replace(/^(https?:\/\/|mailto:|tel:)/, '') === label) {
    return address.startsWith('mailto:') || address.startsWith('tel:') ? (label ?? address) : address
  }
  return `${label} (${address})`
}

/** Takes the gaps out: an address at the start goes with its colon or comma, one inside leaves a single blank. */
function tidyAddress(text: string): string {
  return text
    .replaceAll(new RegExp(`^\\s*(?:${GAP}\\s*)+[,:]?[ \\t]*`, 'g'), '')
    .replaceAll(new RegExp(`[ \\t]*${GAP}[ \\t]*(?=\\n|$)`, 'g'), '')
    .replaceAll(new RegExp(`${GAP}[ \\t]?`, 'g'), '')
    .trim()
}

function unescapeText(text: string): string {
  return text.replace(/&(amp|lt|gt);/g, (_, name: string) => (name === 'amp' ? '&' : name === 'lt' ? '<' : '>'))
}
