import { cutAtOperators, substitutionsOf, wordsOf } from './shellWords.ts'

/** How deep commands are looked for in the words and substitutions of other commands. */
const DEEPEST = 6
/** Behind so many words of a command no other one is looked for. */
const MOST_WORDS = 16

/** Words that only introduce a command. */
const KEYWORDS = /^(?:then|do|else|elif|if|while|until|!|\{|\w+=.*)$/s
/** Commands that run the one in their arguments, behind options of their own. */
const RUNNERS =
  /^(?:sudo|doas|su|env|exec|eval|command|builtin|nohup|setsid|time|nice|ionice|timeout|stdbuf|xargs|parallel|watch|find|ssh|trap|sh|bash|dash|zsh|ksh|busybox|npx)$/
const REDIRECTION = /^\d*(?:[<>]|>>|<<-?|<>|>\|)$/
const ATTACHED_REDIRECTION = /^\d*[<>]/

/**
 * The simple commands that a command line may run, for rules such as `deploy*`: rather too many than too few, so cut at
 * operators as a shell does it (for the line and for each of its lines alone) and also at every one in quotes. Each as it
 * stands and in plain form: without quotes, backslashes, redirections, introducing words and the folder of the program.
 * What a shell makes of variables, aliases and files can't be seen here: such a rule reminds people, it is no wall.
 */
export function simpleCommands(line: string): string[] {
  const found = new Set<string>()
  lookInto(line, found, 0)
  const joined = line.replaceAll('\\\n', '')
  for (const single of joined.split('\n')) lookInto(single, found, 0)
  for (const part of joined.split(/[;|&\n(){}`'"]/)) note(part, found)
  found.delete(line)
  found.delete('')
  return [...found]
}

function lookInto(line: string, found: Set<string>, depth: number): void {
  for (const command of cutAtOperators(line)) {
    const values = note(command, found)
    if (depth === DEEPEST) continue
    // `sh -c '…'`, `eval "…"`, `trap '…' EXIT`: a word that could be a line is taken for one.
    for (const { raw, value } of values)
      if (raw !== value && /[\s;&|()`$]/.test(value)) lookInto(value, found, depth + 1)
    for (const inner of substitutionsOf(command)) lookInto(inner, found, depth + 1)
  }
}

/** Keeps a command in its forms; returns its words. */
function note(command: string, found: Set<string>): ReturnType<typeof wordsOf> {
  const text = command.trim()
  found.add(text)
  const words = wordsOf(text)
  const raws = words.map(({ raw }) => raw)
  const values = withoutRedirections(words.map(({ value }) => value))
  for (const start of startsIn(raws)) found.add(raws.slice(start).join(' '))
  for (const start of startsIn(values)) {
    const [program = '', ...rest] = values.slice(start)
    found.add([program, ...rest].join(' '))
    if (program.includes('/')) found.add([program.slice(program.lastIndexOf('/') + 1), ...rest].join(' '))
  }
  return words
}

/** At which words a command may begin. */
function startsIn(words: readonly string[]): number[] {
  let first = 0
  while (first < words.length - 1 && KEYWORDS.test(words[first]!)) first++
  const starts = [0, first]
  const program = words[first]?.split('/').at(-1) ?? ''
  if (RUNNERS.test(program)) for (let at = first + 1; at < Math.min(words.length, MOST_WORDS); at++) starts.push(at)
  return starts
}

function withoutRedirections(words: readonly string[]): string[] {
  return words.filter((word, at) => !ATTACHED_REDIRECTION.test(word) && !REDIRECTION.test(words[at - 1] ?? ''))
}
