import { consoleWorld } from './consoleWorld.ts'
import { scenarioSuite } from './scenarioSuite.ts'

scenarioSuite('Console', consoleWorld)
