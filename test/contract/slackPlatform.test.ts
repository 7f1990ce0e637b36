import { cardSuite } from './cardSuite.ts'
import { platformSuite } from './platformSuite.ts'
import { startSlack } from './slackHarness.ts'

platformSuite('Slack by Socket Mode', () => startSlack('socket'))
platformSuite('Slack by HTTP', () => startSlack('http'))
cardSuite('Slack by Socket Mode', () => startSlack('socket'))
cardSuite('Slack by HTTP', () => startSlack('http'))
