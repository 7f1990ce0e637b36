import { getGlobalDispatcher } from 'undici'
import { expect, test } from 'vitest'
import { startBot, double as startDouble } from './discordHarness.ts'
import { startSlack } from './slackHarness.ts'

/** Slack's libraries bring a newer undici than discord.js; the newer one replaces the dispatcher of the whole process. */
test('a file reaches Discord while Slack is connected in the same process', async () => {
  const slack = await startSlack('socket')
  try {
    await slack.hooks.mention('hello')
    await slack.inbox.received(1)
    expect(Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.2'))).toBe(getGlobalDispatcher())
    const { double, inbox, platform } = await startBot({}, await startDouble())
    double.mention(double.aliceId, double.channelId, 'send it')
    const [message] = await inbox.received(1)
    const file = { name: 'transcript.md', content: '# Transcript\n', comment: 'so far' }
    const ref = await platform.upload(message!.thread, file, { key: 'f' })
    const [shown] = double.find(ref!.channel, ref!.id)
    expect(shown!.attachments).toMatchObject([{ filename: 'transcript.md', size: 13 }])
    expect(await (await fetch(shown!.attachments[0]!.url)).text()).toBe('# Transcript\n')
  } finally {
    await slack.close()
  }
})
