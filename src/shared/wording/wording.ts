import { en } from './en.ts'
import { zh } from './zh.ts'

/** Every sentence the bot says to people, by language. `en` is the original; a test holds the others to its keys. */
export type Wording = {
  [K in keyof typeof en]: (typeof en)[K] extends (...args: infer A) => string ? (...args: A) => string : string
}

export type Language = 'en' | 'zh'

/** Sentences in the language of a BCP 47 tag; English where there is no translation. */
export function wordingFor(locale: string | undefined): Wording {
  return locale?.toLowerCase().startsWith('zh') ? zh : en
}
