/** A word of a command line: what stands there, and what a shell makes of its quotes and backslashes. */
export interface Word {
  raw: string
  value: string
}

/**
 * The commands of a line as they stand, cut at operators outside of quotes and substitutions; comments are commands of their
 * own. What has no end reaches to the end of the line.
 */
export function cutAtOperators(line: string): string[] {
  const commands: string[] = []
  let start = 0
  for (let at = 0; at < line.length; ) {
    if (';&|\n()'.includes(line[at]!)) {
      commands.push(line.slice(start, at))
      start = ++at
    } else if (line[at] === '#' && (at === 0 || /[\s;&|()]/.test(line[at - 1]!))) {
      commands.push(line.slice(start, at))
      start = at + 1
      const end = line.indexOf('\n', at)
      at = end < 0 ? line.length : end
    } else at = behind(line, at)
  }
  commands.push(line.slice(start))
  return commands
}

/** The words of one command. */
export function wordsOf(command: string): Word[] {
  const words: Word[] = []
  let raw = ''
  let value = ''
  const take = () => {
    if (raw !== '') words.push({ raw, value })
    raw = value = ''
  }
  for (let at = 0; at < command.length; ) {
    const end = behind(command, at)
    const piece = command.slice(at, end)
    if (/^\s$/.test(piece)) take()
    else {
      raw += piece
      value += meaningOf(piece)
    }
    at = end
  }
  take()
  return words
}

/** The insides of the substitutions of a command that stand outside of its quotes. */
export function substitutionsOf(command: string): string[] {
  const found: string[] = []
  for (let at = 0; at < command.length; ) {
    const end = behind(command, at)
    const piece = command.slice(at, end)
    if (piece.startsWith('$(')) found.push(piece.slice(2).replace(/\)$/, ''))
    // `${x:-…}`: what takes the place of a variable can be a command.
    else if (piece.startsWith('${'))
      found.push(
        piece
          .slice(2)
          .replace(/}$/, '')
          .replace(/^\w+:?[-=+?]/, ''),
      )
    else if (piece.length > 1 && piece[0] === '`')
      found.push(
        piece
          .slice(1)
          .replace(/`$/, '')
          .replace(/\\([`$\\])/g, '$1'),
      )
    at = end
  }
  return found
}

function meaningOf(piece: string): string {
  if (piece === '\\\n') return ''
  if (piece[0] === '\\') return piece.slice(1)
  if (piece[0] === "'") return piece.slice(1).replace(/'$/, '')
  if (piece[0] === '"')
    return piece
      .slice(1)
      .replace(/"$/, '')
      .replace(/\\\n/g, '')
      .replace(/\\(["$`\\])/g, '$1')
  return piece
}

/** Where the sign, quotation or substitution that begins at a place ends. */
function behind(line: string, from: number): number {
  const closers: string[] = []
  for (let at = from; at < line.length; ) {
    const sign = line[at]!
    const closer = closers.at(-1)
    if (closer === "'") {
      const end = line.indexOf("'", at)
      if (end < 0) return line.length
      at = end + 1
      closers.pop()
    } else if (sign === '\\') at += 2
    else if (sign === closer) {
      at++
      closers.pop()
    } else {
      const opened = closerOf(line, at, closer)
      if (opened) closers.push(opened)
      at += opened && sign === '$' ? 2 : 1
    }
    if (closers.length === 0) return Math.min(at, line.length)
  }
  return line.length
}

function closerOf(line: string, at: number, within: string | undefined): string | undefined {
  switch (line[at]) {
    case "'":
      return within === '"' ? undefined : "'"
    case '"':
    case '`':
      return line[at]
    case '$':
      return line[at + 1] === '(' ? ')' : line[at + 1] === '{' ? '}' : undefined
    case '(':
      return within === ')' ? ')' : undefined
    default:
      return undefined
  }
}
