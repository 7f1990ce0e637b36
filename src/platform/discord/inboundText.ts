/** Names for what a message mentions, as far as the message or the cache knows them. */
export interface MentionNames {
  botId: string
  user(id: string): string | undefined
  role(id: string): string | undefined
  channel(id: string): string | undefined
}

const CODE = /(```[\s\S]*?```|``[\s\S]*?``|`[^`\n]*`)/

/**
 * Markdown as the person meant it: the bot's own mention taken out, other mentions as `@name` and `#name`, custom emoji by
 * name, times in ISO form. Code is left as it is: Discord reads no mentions there.
 */
export function inboundText(content: string, names: MentionNames): string {
  return outsideCode(content, (text) =>
    text
      .replaceAll(new RegExp(`[ \\t]*<@!?${names.botId}>`, 'g'), '')
      .replaceAll(/<@!?(\d+)>/g, (_, id: string) => `@${names.user(id) ?? id}`)
      .replaceAll(/<@&(\d+)>/g, (_, id: string) => `@${names.role(id) ?? id}`)
      .replaceAll(/<#(\d+)>/g, (_, id: string) => `#${names.channel(id) ?? id}`)
      .replaceAll(/<a?(:\w+:)\d+>/g, '$1')
      .replaceAll(/<\/([^:>]+):\d+>/g, '/$1')
      .replaceAll(/<t:(-?\d{1,11})(?::\w)?>/g, (_, seconds: string) => new Date(Number(seconds) * 1000).toISOString()),
  ).trim()
}

/** True when the text itself names the bot, outside of code. */
export function namesBot(content: string, botId: string): boolean {
  let named = false
  outsideCode(content, (text) => {
    named ||= new RegExp(`<@!?${botId}>`).test(text)
    return text
  })
  return named
}

function outsideCode(content: string, change: (text: string) => string): string {
  return content
    .split(CODE)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('')
}
