/**
 * A text with what hides from readers made visible: control characters, direction changes, zero-width characters and blanks
 * that look like others. Line breaks, tabs and plain blanks stay.
 */
export function withoutDisguise(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu, (sign) =>
      '\n\t'.includes(sign) ? sign : named(sign),
    )
    .replace(/[^\S \n\t]/gu, named)
}

/** The same for a command line: runs of blanks, which could push its end out of sight, and tabs are made visible, too. */
export function visibleCommand(command: string): string {
  return withoutDisguise(command)
    .replaceAll('\t', '→')
    .replace(/(?<=\S) {3,}/g, (run) => (run.length > 8 ? ` ⟨${run.length} blanks⟩ ` : '·'.repeat(run.length)))
}

function named(sign: string): string {
  return `⟨U+${sign.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`
}
