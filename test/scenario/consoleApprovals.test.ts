import { approvalScenarios } from './approvalSuite.ts'
import { consoleWorld } from './consoleWorld.ts'

approvalScenarios('Console', consoleWorld)
