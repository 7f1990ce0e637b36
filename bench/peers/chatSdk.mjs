/**
 * The npm package `chat` with its adapters as a bot like ToyCoder in the benchmark: named in a channel, it hands the pieces
 * of the model's answer to `thread.post` as they come. Everything else is as the package has it by default.
 */
import { createDiscordAdapter } from '@chat-adapter/discord'
import { createSlackAdapter } from '@chat-adapter/slack'
import { createMemoryState } from '@chat-adapter/state-memory'
import { Chat } from 'chat'
import { DefaultRestOptions } from 'discord.js'

const { env } = process
const adapters = env.BENCH_PLATFORM === 'slack' ? { slack: slack() } : { discord: discord() }
const chat = new Chat({ userName: 'toycoder', adapters, state: createMemoryState(), logger: 'silent' })

chat.onNewMention(async (thread, message) => {
  const name = /answer \d+/.exec(message.text)?.[0] ?? 'warm up'
  try {
    await thread.post(pieces(name))
  } catch (error) {
    process.send({ problem: String(error).slice(0, 300) })
  }
})

await chat.initialize()
if (adapters.discord) await listenToGateway(adapters.discord)
process.send({ ready: true })

function slack() {
  return createSlackAdapter({
    mode: 'socket',
    appToken: env.SLACK_APP_TOKEN,
    botToken: env.SLACK_BOT_TOKEN,
    apiUrl: env.SLACK_API_URL,
    ...(env.BENCH_SYSTEM === 'chat-sdk-edits' && { nativeStreaming: false }),
  })
}

function discord() {
  // The adapter makes its gateway client without a way to name another address.
  DefaultRestOptions.api = env.DISCORD_API_URL
  return createDiscordAdapter({
    botToken: env.DISCORD_TOKEN,
    applicationId: env.DISCORD_APPLICATION_ID,
    publicKey: '0'.repeat(64),
    apiUrl: `${env.DISCORD_API_URL}/v10`,
  })
}

async function listenToGateway(adapter) {
  const hour = 3_600_000
  await adapter.startGatewayListener({ waitUntil: () => {} }, hour)
  // It does not say when it is connected.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
}

/** The model's answer as it streams, read without a library so that little of the CPU time is the benchmark's. */
async function* pieces(question) {
  const response = await fetch(`${env.OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${env.OPENAI_API_KEY}` },
    body: JSON.stringify({
      model: env.OPENAI_MODEL,
      stream: true,
      messages: [{ role: 'user', content: `${question}, please` }],
    }),
  })
  let rest = ''
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
      const piece = JSON.parse(line.slice(6)).choices[0]?.delta.content
      if (piece) yield piece
    }
  }
}
