import type { ApprovalRule } from './approvalTypes.ts'

/** A rule for some calls: what it leaves out is as in general. `match`: only calls with a subject that fits this pattern. */
export type ToolApprovalRule = { readonly [K in keyof ApprovalRule]?: ApprovalRule[K] } & { readonly match?: string }

/** The general rule, and rules by name of a tool or by a pattern such as `tickets__*` for all tools of an MCP server. */
export type ApprovalRules = ApprovalRule & { readonly tools: Readonly<Record<string, readonly ToolApprovalRule[]>> }

/**
 * The rule for a call: of the entries whose name fits the tool, the tool's own name before patterns and longer patterns before
 * shorter ones, the first rule whose `match` fits one of the call's subjects (the command line and each command in it, a
 * path) or that has none. Without any, the general rule. One fitting subject is enough, so strict rules belong before lenient
 * ones: a line of many commands is then under the strictest rule that any of them needs.
 */
export function ruleFor(rules: ApprovalRules, tool: string, subjects: readonly string[]): ApprovalRule {
  const { tools, ...general } = rules
  const names = Object.keys(tools)
    .filter((name) => fits(name, tool))
    .sort((a, b) => Number(b === tool) - Number(a === tool) || b.length - a.length)
  for (const { match, ...rule } of names.flatMap((name) => tools[name]!)) {
    if (match === undefined || subjects.some((subject) => fits(match, subject))) return { ...general, ...rule }
  }
  return general
}

/** Whether a text fits a pattern in which `*` stands for anything, line breaks and slashes too, and all else for itself. */
export function fits(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return text === pattern
  if (!text.startsWith(first)) return false
  let at = first.length
  const last = rest.pop()!
  // Each part at its earliest place: linear, and right because what follows may stand anywhere behind it.
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
