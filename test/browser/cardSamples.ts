import type { Button, Dialog } from '../../src/platform/platform.ts'

export const VALUE = 'c12.0/1'
export const BUTTONS: Button[] = [
  { action: 'approve', label: 'Approve', style: 'primary', value: VALUE },
  { action: 'always', label: 'Always in this thread', style: 'plain', value: VALUE },
  { action: 'edit', label: 'Edit…', style: 'plain', value: VALUE },
  { action: 'deny', label: 'Deny…', style: 'danger', value: VALUE },
]
const lines = Array.from({ length: 60 }, (_, n) => ` line ${n} ${'and on '.repeat(30)}`)
export const DIFF = ['@@ -1,62 +1,62 @@', '-old <b>line</b>', '+new line', ...lines, '--- dashes', '+++ pluses'].join(
  '\n',
)
export const ASKS = '**May I run `edit_file`?**  \nsrc/a.ts (+2 −2)'
export const CARD = `${ASKS}\n\n\`\`\`diff\n${DIFF}\n\`\`\`\n\n"Always" means: file edits.`
export const SETTLED = CARD.replace(/"Always".*/, '✅ Approved by Dana, 2026-12-02 10:00 UTC')
export const EDIT: Dialog = {
  ...{ action: 'edit', value: VALUE, title: 'Edit run_command', submit: 'Submit', close: 'Cancel' },
  intro: 'What you submit gets a card of its own.',
  fields: [
    { name: 'command', label: 'command', value: 'npm test\n\techo $&', multiline: true, required: true },
    { name: 'timeout_s', label: 'timeout_s', value: '', multiline: false, required: false },
  ],
}
export const DENY: Dialog = {
  ...{ action: 'deny', value: VALUE, title: 'Deny this call', submit: 'Submit', close: 'Cancel' },
  fields: [{ name: 'reason', label: 'Reason (the model reads it)', value: '', multiline: true, required: false }],
}
