import { startDiscord } from './discordSuites.ts'
import { platformSuite } from './platformSuite.ts'

platformSuite('Discord', startDiscord)
