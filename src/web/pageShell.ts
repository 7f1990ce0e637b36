import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { pageWordsFor } from '../shared/wording/consolePage.ts'
import type { Language } from '../shared/wording/wording.ts'

const PUBLIC = new URL('./public/', import.meta.url)

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

export interface Asset {
  body: Buffer<ArrayBuffer>
  type: string
  etag: string
}

export interface PageShell {
  /** `console` or `signIn`: a whole HTML page in that language. It holds no data; that comes by the API. */
  page(name: 'console' | 'signIn', language: Language): string
  asset(name: string): Asset | undefined
}

/** Reads the pages' files once; what is not among them is not served, whatever a path looks like. */
export async function loadPageShell(): Promise<PageShell> {
  const files = await readdir(PUBLIC)
  const loaded = await Promise.all(files.map(async (name) => [name, await readFile(new URL(name, PUBLIC))] as const))
  const assets = new Map<string, Asset>()
  const templates = new Map<string, string>()
  for (const [name, body] of loaded) {
    const type = TYPES[extname(name)]
    if (extname(name) === '.html') templates.set(name, body.toString('utf8'))
    if (type)
      assets.set(name, { body, type, etag: `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"` })
  }

  return {
    page(name, language) {
      const words: Record<string, string> = { ...pageWordsFor(language), language: language === 'zh' ? 'zh-CN' : 'en' }
      // A data block, which no browser runs: the page's scripts read their words from it.
      const data = `id="words">${JSON.stringify(words).replace(/</g, '\\u003c')}`
      return (templates.get(`${name}.html`) ?? '')
        .replace(/\{\{(\w+)\}\}/g, (_, key: string) => escaped(words[key] ?? key))
        .replace('<html lang="en">', `<html lang="${words.language}">`)
        .replace('id="words">{}', () => data)
    },
    asset: (name) => assets.get(name),
  }
}

/** The page's language: the configured one, else the first of the browser's that we speak, else English. */
export function languageOf(configured: Language | 'auto', acceptLanguage: string | undefined): Language {
  if (configured !== 'auto') return configured
  const wanted = (acceptLanguage ?? '').split(',').map((part) => part.trim().toLowerCase())
  const known = wanted.find((tag) => tag.startsWith('en') || tag.startsWith('zh'))
  return known?.startsWith('zh') ? 'zh' : 'en'
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
