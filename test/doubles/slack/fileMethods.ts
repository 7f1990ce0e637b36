import { randomUUID } from 'node:crypto'
import { checkThread, writableChannel } from './chatMethods.ts'
import type { Methods } from './methods.ts'
import { invalid, Refusal, required, text } from './request.ts'
import { type SlackFile, type World, wireFile } from './world.ts'

/** Files between the three steps of an upload: an address is given out, bytes arrive, the file is shared. */
export interface Uploads {
  methods: Methods
  /** Step 2. True when the address exists and the length is as announced. */
  receive(id: string, content: Buffer): boolean
}

export function createUploads(world: World): Uploads {
  const pending = new Map<string, { file: SlackFile; length: number; received: boolean }>()
  return {
    receive(id, content) {
      const upload = pending.get(id)
      if (!upload || content.length !== upload.length) return false
      upload.file.content = content
      upload.received = true
      return true
    },
    methods: {
      'files.getUploadURLExternal': {
        tier: 4,
        scope: 'files:write',
        args: ['filename', 'length', 'snippet_type', 'alt_txt', 'alt_text'],
        run(args, { url }) {
          const name = required(args, 'filename')
          const length = Number(required(args, 'length'))
          if (!Number.isInteger(length)) invalid('length must be an integer', 'length')
          if (length === 0) throw new Refusal('missing_argument')
          if (length > 1_000_000_000) throw new Refusal('file_upload_size_restricted')
          const id = `F${randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase()}`
          const { botUserId: user } = world.app
          const file = { id, name, title: name, mimetype: mimeOf(name), size: length, user, content: Buffer.alloc(0) }
          pending.set(id, { file, length, received: false })
          return { upload_url: `${url}/upload/${id}`, file_id: id }
        },
      },
      'files.completeUploadExternal': {
        tier: 4,
        scope: 'files:write',
        args: ['files', 'channel_id', 'thread_ts', 'initial_comment', 'blocks', 'channels'],
        run(args) {
          const list = args.files
          if (!Array.isArray(list) || !list.length) invalid('files must be a list', 'files')
          const files = (list as { id: string; title?: string }[]).map(({ id, title }) => {
            const upload = pending.get(id)
            if (!upload?.received) throw new Refusal('file_not_found')
            return Object.assign(upload.file, { title: title ?? upload.file.name })
          })
          const channelId = text(args, 'channel_id')
          if (channelId) {
            const channel = writableChannel(world, channelId)
            const threadTs = text(args, 'thread_ts')
            if (threadTs) checkThread(channel, threadTs)
            for (const { id } of files) pending.delete(id)
            // Sharing follows the answer: the answer knows no ts, the event comes later.
            setTimeout(() => {
              world.post(channel, {
                user: world.app.botUserId,
                botId: world.app.botId,
                subtype: 'file_share',
                text: text(args, 'initial_comment') ?? '',
                files,
                ...(threadTs && { threadTs }),
              })
            }, 5)
          }
          return { files: files.map(wireFile) }
        },
      },
    },
  }
}

function mimeOf(name: string): string {
  return /\.(md|txt|log|diff)$/.test(name) ? 'text/plain' : 'application/octet-stream'
}
