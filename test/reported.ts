import { existsSync } from 'node:fs'
import { it } from 'vitest'

/** Like `it`, for tests of what lies beside the repository in `../shared`; without it they are skipped, with the reason. */
export function reportedIn(place: URL | string) {
  return existsSync(place)
    ? (title: string, run: () => void | Promise<void>) => it(title, run)
    : (title: string, run: () => void | Promise<void>) => it.skip(`${title} (skipped: ../shared is not there)`, run)
}
