/**
 * The simple commands that a command line may run, for rules such as `deploy*`: split at every operator, whatever quotes it
 * stands in, so that rather too many are found than too few. What a shell makes of variables, aliases and files can't be seen
 * here: such a rule reminds people, it is no wall.
 */
export function simpleCommands(line: string): string[] {
  const found = new Set<string>()
  for (const part of line.split(/&&|\|\||[;|&\n(){}`'"]|\$\(/)) {
    let command = part.trim()
    while (command !== '') {
      found.add(command)
      // `env X=1 sudo deploy`: what comes behind words that only introduce a command is one, too.
      const next =
        /^(?:\w+=\S*|sudo|env|exec|nohup|time|nice|then|do|else|if|while|until|!|command|builtin|xargs|sh|bash|-\S+)\s+(.*)$/s.exec(
          command,
        )
      command = next?.[1]?.trim() ?? ''
    }
  }
  found.delete(line.trim())
  return [...found]
}
