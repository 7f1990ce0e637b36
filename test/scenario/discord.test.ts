import { discordWorld } from './discordWorld.ts'
import { scenarioSuite } from './scenarioSuite.ts'

scenarioSuite('Discord', discordWorld)
