import { approvalScenarios } from './approvalSuite.ts'
import { discordWorld } from './discordWorld.ts'

approvalScenarios('Discord', discordWorld)
