/**
 * Shapes of tokens that are unmistakable by their prefix or surroundings. Each costs no false alarm in ordinary code: no
 * "any long random text" here. None matches a quote or a backslash (but for the line ends of a key), so that masking
 * inside of JSON keeps it JSON. All patterns are linear in the length of the text: repeats are bounded or can't overlap.
 */
export interface TokenShape {
  label: string
  /** One of these words is in every match; texts without them are not searched. */
  hint: string[]
  /** With the flags `d` and `g`. Where it has a group, the group is the secret and the rest its surroundings. */
  pattern: RegExp
}

/** No letter, digit, `_` or `-` before: the prefix begins a word. */
const START = '(?<![A-Za-z0-9_-])'

const word = (label: string, hint: string | string[], body: string): TokenShape => ({
  label,
  hint: [hint].flat(),
  pattern: new RegExp(START + body, 'dg'),
})

const KEY_BEGIN = '-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----'
const KEY_END = '-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----'
/** Any sign that can stand between the two, headers of the key included; `\n` may be written out. */
const KEY_SIGN = '(?:(?!-----(?:BEGIN|END) )[^"`\\\\]|\\\\[nrt])'
/** Lines of a key whose end was cut off. */
const KEY_LINES = '(?:(?:\\s|\\\\[nrt]){1,40}[A-Za-z0-9+/=]{20,})+'

/**
 * A text that begins with a private key whose end has not come: a line break or a long word follows the beginning, as it
 * does not where somebody writes about keys.
 */
export const OPEN_KEY = new RegExp(
  `^${KEY_BEGIN}(?:\\s?[A-Za-z0-9+/=]*\\\\?$|(?:\\s*(?:\\n|\\\\[nr])|\\s?[A-Za-z0-9+/=]{20})${KEY_SIGN}*(?:\\\\|-----END[A-Z0-9 ]*-{0,4})?$)`,
)

export const TOKEN_SHAPES: readonly TokenShape[] = [
  word('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{36,255}'),
  word('github-token', 'github_pat_', 'github_pat_[A-Za-z0-9_]{22,255}'),
  word('gitlab-token', 'gl', 'gl(?:pat|dt|rt|ptt|ft|oas)-[A-Za-z0-9_.-]{20,300}'),
  word('slack-token', 'xox', 'xox[abceoprs]-[A-Za-z0-9-]{10,300}'),
  word('slack-token', 'xoxe', 'xoxe\\.xox[bp]-[A-Za-z0-9-]{10,300}'),
  word('slack-token', 'xapp-', 'xapp-[0-9]-[A-Za-z0-9-]{10,300}'),
  word(
    'slack-webhook',
    'hooks.slack.com',
    'hooks\\.slack\\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,200})',
  ),
  word('discord-token', ['M', 'N', 'O'], '[MNO][A-Za-z0-9_-]{22,28}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,48}'),
  word('discord-webhook', 'api/webhooks/', 'discord(?:app)?\\.com/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_-]{40,120})'),
  word('anthropic-key', 'sk-ant-', 'sk-ant-[A-Za-z0-9_-]{20,300}'),
  word('openrouter-key', 'sk-or-', 'sk-or-v[0-9]-[A-Za-z0-9]{32,128}'),
  word('openai-key', 'sk-', 'sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,300}'),
  word('openai-key', 'sk-', 'sk-[A-Za-z0-9]{32,200}'),
  word('groq-key', 'gsk_', 'gsk_[A-Za-z0-9]{40,100}'),
  word('xai-key', 'xai-', 'xai-[A-Za-z0-9]{60,120}'),
  word('huggingface-token', 'hf_', 'hf_[A-Za-z0-9]{30,60}'),
  word('google-key', 'AIza', 'AIza[A-Za-z0-9_-]{35}'),
  word('google-token', ['ya29.', 'GOCSPX-'], '(?:ya29\\.[A-Za-z0-9_-]{20,400}|GOCSPX-[A-Za-z0-9_-]{20,40})'),
  word('aws-key-id', ['AKIA', 'ASIA'], 'A(?:KI|SI)A[A-Z2-7]{16}(?![A-Za-z0-9])'),
  {
    label: 'aws-secret-key',
    hint: ['ecret', 'ECRET'],
    pattern: /aws_?secret_?access_?key["']?[ \t]{0,8}[:=][ \t]{0,8}["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/dgi,
  },
  word('npm-token', 'npm_', 'npm_[A-Za-z0-9]{36}'),
  word('pypi-token', 'pypi-', 'pypi-[A-Za-z0-9_-]{50,400}'),
  word('docker-token', 'dckr_', 'dckr_(?:pat|oat)_[A-Za-z0-9_-]{27,60}'),
  word('stripe-key', ['k_live_', 'k_test_'], '[sr]k_(?:live|test)_[A-Za-z0-9]{16,200}'),
  word('webhook-secret', 'whsec_', 'whsec_[A-Za-z0-9+/=]{24,100}'),
  word('sendgrid-key', 'SG.', 'SG\\.[A-Za-z0-9_-]{16,32}\\.[A-Za-z0-9_-]{16,64}'),
  word('digitalocean-token', '_v1_', 'do[por]_v1_[a-f0-9]{64}'),
  word('telegram-token', ':AA', '[0-9]{8,10}:AA[A-Za-z0-9_-]{33}'),
  word('age-key', 'AGE-SECRET-KEY-', 'AGE-SECRET-KEY-1[0-9A-Z]{58}'),
  word('jwt', 'eyJ', 'eyJ[A-Za-z0-9_-]{10,2000}\\.eyJ[A-Za-z0-9_-]{10,4000}\\.[A-Za-z0-9_-]{10,2000}'),
  {
    label: 'private-key',
    hint: ['PRIVATE KEY'],
    pattern: new RegExp(`${KEY_BEGIN}(?:${KEY_SIGN}{0,16384}${KEY_END}|${KEY_LINES})`, 'dg'),
  },
  {
    label: 'password',
    hint: ['://'],
    pattern: /:\/\/[^\s/?#:@"'`\\<>[\]{}$]{0,128}:([^\s/@"'`\\<>[\]{}$]{1,256})@/dg,
  },
  {
    label: 'credential',
    hint: ['uthorization', 'UTHORIZATION'],
    pattern:
      /authorization["']?[ \t]{0,8}[:=][ \t]{0,8}["']?(?:bearer|basic|token|bot)[ \t]{1,8}([A-Za-z0-9+/=_.~-]{8,4096})/dgi,
  },
]
