import type { Bus, ServerBusOptions } from './bus.ts'

/** The bus on the server at `url` (`redis://…` or `postgres://…`). Rejects when it can't be reached. The clients are loaded only here. */
export async function openBus(url: string, options: ServerBusOptions): Promise<Bus> {
  return /^rediss?:/.test(url)
    ? (await import('./redisBus.ts')).redisBus(url, options)
    : (await import('./postgresBus.ts')).postgresBus(url, options)
}
