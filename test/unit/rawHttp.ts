import { connect } from 'node:net'

export interface RawAnswer {
  status: number
  headers: Map<string, string>
  body: string
}

/** Sends exactly these lines, as a program can and a browser would never let a page do, and reads until the server closes. */
export function rawHttp(port: number, lines: readonly string[], body = ''): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8')
    socket.setTimeout(5000, () => socket.destroy(new Error('no end of the answer')))
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => {
      const [head = '', ...rest] = text.split('\r\n\r\n')
      const [first = '', ...fields] = head.split('\r\n')
      const headers = fields.map((field): [string, string] => {
        const colon = field.indexOf(':')
        return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
      })
      resolve({ status: Number(first.split(' ')[1]), headers: new Map(headers), body: rest.join('\r\n\r\n') })
    })
    const length = body ? [`Content-Length: ${Buffer.byteLength(body)}`] : []
    socket.write(`${[...lines, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`)
  })
}
