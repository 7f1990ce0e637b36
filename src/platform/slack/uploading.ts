import { PlatformError } from '../../shared/errors.ts'
import type { MessageRef, ThreadRef } from '../../shared/thread.ts'
import type { OutgoingFile, PostOptions } from '../platform.ts'
import type { SlackCalls } from './calls.ts'
import { refOf, rootOf } from './inbound.ts'
import { platformErrorOf } from './slackErrors.ts'

const UPLOAD_TIMEOUT_MS = 120_000

/**
 * Uploads a file into a thread in Slack's three steps: ask for an address, send the bytes there, share the file. Nobody
 * sees anything before the third step, so only that one has to happen once.
 *
 * Slack shares asynchronously and can't carry a key with a file. After an uncertain failure the thread is looked through
 * for the file's id; when an earlier life of the program is in doubt, for one of ours with the same name and size.
 * Returns the message if it is known, else null: it turns up in the thread a moment later.
 */
export async function uploadFile(
  calls: SlackCalls,
  selfId: string,
  thread: ThreadRef,
  file: OutgoingFile,
  { inDoubt }: PostOptions,
): Promise<MessageRef | null> {
  const bytes = typeof file.content === 'string' ? Buffer.from(file.content) : Buffer.from(file.content)
  if (!bytes.length) throw new PlatformError('invalid', 'empty_file', 'Slack takes no empty files')
  if (inDoubt) {
    const found = await findShare(calls, thread, ({ name, size, user }) => {
      return name === file.name && size === bytes.length && user === selfId
    })
    if (found) return found
  }
  const place = await calls.write('files.getUploadURLExternal', (client) =>
    client.files.getUploadURLExternal({ filename: file.name, length: bytes.length }),
  )
  const id = place.file_id!
  await sendBytes(place.upload_url!, bytes, file.name)
  try {
    await calls.write('files.completeUploadExternal', (client) =>
      client.files.completeUploadExternal({
        files: [{ id, title: file.name }],
        channel_id: thread.channel,
        thread_ts: rootOf(thread),
        ...(file.comment && { initial_comment: escapeText(file.comment) }),
      }),
    )
    return null
  } catch (error) {
    if (!(error instanceof PlatformError) || !error.uncertain) throw error
    const found = await findShare(calls, thread, (shared) => shared.id === id).catch(() => undefined)
    if (found) return found
    throw error
  }
}

async function sendBytes(url: string, bytes: Buffer, name: string): Promise<void> {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(bytes)]), name)
  try {
    const answer = await fetch(url, { method: 'POST', body: form, signal: AbortSignal.timeout(UPLOAD_TIMEOUT_MS) })
    await answer.arrayBuffer()
    if (answer.ok) return
    throw new PlatformError('unavailable', `http_${answer.status}`, 'Slack did not take the bytes of a file')
  } catch (error) {
    throw platformErrorOf(error, { method: 'the upload of a file', bot: '', writes: false })
  }
}

interface SharedFile {
  id?: string
  name?: string
  size?: number
  user?: string
}

async function findShare(
  calls: SlackCalls,
  thread: ThreadRef,
  isIt: (file: SharedFile) => boolean,
): Promise<MessageRef | undefined> {
  let cursor: string | undefined
  do {
    const answer = await calls.read('conversations.replies', (client) =>
      client.conversations.replies({
        channel: thread.channel,
        ts: rootOf(thread),
        limit: 200,
        ...(cursor && { cursor }),
      }),
    )
    const found = answer.messages?.find(({ files }) => files?.some((shared) => isIt(shared as SharedFile)))
    if (found) return refOf(thread.channel, found.ts!)
    cursor = answer.response_metadata?.next_cursor
  } while (cursor)
  return undefined
}

/** A comment is shown as it is written: with everything escaped that Slack would take for a mention or a link. */
function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
