import type { AuditEntry } from '../session/approvalAudit.ts'
import type { Redactor } from '../shared/redact.ts'
import { plainInline } from '../transcript/containedMarkdown.ts'

/** Longest detail of one line, in characters. */
const DETAIL_CHARACTERS = 200

/** Entries of an audit as a list, a line each; secrets masked. */
export function auditLines(entries: readonly AuditEntry[], redactor: Redactor): string {
  return entries.map((entry) => `- ${auditLine(entry, redactor)}`).join('\n')
}

/** One entry as a line of Markdown. */
export function auditLine({ at, what, by, tool, callKey, number, detail }: AuditEntry, redactor: Redactor): string {
  const when = new Date(at).toISOString().replace('T', ' ').slice(0, 19)
  const call = callKey ? ` ${callKey}${number !== undefined && number > 1 ? ` (${number})` : ''}` : ''
  const who = by?.name ? `, ${plainInline(by.name)}` : ''
  const told = detail === undefined ? '' : typeof detail === 'string' ? detail : JSON.stringify(detail)
  const masked = redactor.text(told)
  const short = masked.length > DETAIL_CHARACTERS ? `${masked.slice(0, DETAIL_CHARACTERS)}…`.toWellFormed() : masked
  return `${when}${call} **${what}**${tool ? ` ${plainInline(tool)}` : ''}${who}${short && `: ${plainInline(short)}`}`
}
