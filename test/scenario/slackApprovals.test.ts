import { approvalScenarios } from './approvalSuite.ts'
import { slackWorld } from './slackWorld.ts'

approvalScenarios('Slack', slackWorld)
