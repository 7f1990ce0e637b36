import type { ChatPlatform } from '../platform/platform.ts'
import type { PlatformName } from '../shared/thread.ts'

/** The platforms that are on, by name. */
export interface Platforms {
  /** Throws when that platform is off: its threads stay in the store until it is on again. */
  of(place: { platform: PlatformName }): ChatPlatform
  has(name: PlatformName): boolean
}

export function platformsByName(platforms: readonly ChatPlatform[]): Platforms {
  const byName = new Map(platforms.map((platform) => [platform.name, platform]))
  return {
    has: (name) => byName.has(name),
    of({ platform }) {
      const found = byName.get(platform)
      if (!found) throw new Error(`the platform ${platform} is not switched on`)
      return found
    },
  }
}
