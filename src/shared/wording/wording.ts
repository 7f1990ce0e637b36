import { en, type Wording } from './en.ts'
import { zh } from './zh.ts'

export type { Wording }

export type Language = 'en' | 'zh'

/** Sentences in the language of a BCP 47 tag; English where there is no translation. */
export function wordingFor(locale: string | undefined): Wording {
  return locale?.toLowerCase().startsWith('zh') ? zh : en
}
