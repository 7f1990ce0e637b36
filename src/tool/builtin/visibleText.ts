/**
 * A text with what hides from readers made visible: control characters, direction changes, characters that show nothing and
 * blanks that look like others. Line breaks, tabs, plain blanks and the mark that makes a sign an emoji stay.
 */
export function withoutDisguise(text: string): string {
  return text
    .toWellFormed()
    .replace(/(?<!\p{Extended_Pictographic})\ufe0f/gu, named)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu, (sign) =>
      '\n\t\ufe0f'.includes(sign) ? sign : named(sign),
    )
    .replace(/[^\S \n\t]/gu, named)
}

/** Deeper indentation than this could push a command out of sight. */
const DEEPEST_INDENT = 16

/** The same for a command line: tabs, and runs of blanks and empty lines, which could push its end out of sight, too. */
export function visibleCommand(command: string): string {
  return withoutDisguise(command)
    .replace(/^((?:[ \t]*\n){3,})/gm, (run) => `⟨${run.split('\n').length - 1} empty lines⟩\n`)
    .replaceAll('\t', '→')
    .replace(/(?<![ ]) +/g, (run, at: number, all: string) => visibleBlanks(run, at === 0 || all[at - 1] === '\n'))
}

function visibleBlanks(run: string, isIndent: boolean): string {
  if (run.length <= (isIndent ? DEEPEST_INDENT : 2)) return run
  return run.length > 8 ? ` ⟨${run.length} blanks⟩ ` : '·'.repeat(run.length)
}

function named(sign: string): string {
  return `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`
}
