import { scenarioSuite } from './scenarioSuite.ts'
import { slackWorld } from './slackWorld.ts'

scenarioSuite('Slack', slackWorld)
