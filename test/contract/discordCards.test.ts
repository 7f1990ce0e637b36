import { cardSuite } from './cardSuite.ts'
import { startDiscord } from './discordSuites.ts'

cardSuite('Discord', startDiscord, {
  skip: {
    'a dialog opens as the answer to a click, filled in':
      'the buttons of a modal have the words of Discord; discordDialogs.test.ts asks for all the rest',
    'words for one person can have buttons, and a click on them comes from the right thread':
      'Discord shows something to one person only as an answer; discordClicks.test.ts asks for it after a command',
  },
})
