import { createSocket } from 'node:dgram'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { connect } from 'node:net'
import { guardedLookup, RefusedAddress, requireAllowedHost } from './guarded-address.ts'

const TIMEOUT_MS = 10_000
const SHOWN_CHARACTERS = 500

export interface Message {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** What came of it. `isFinal`: sending the same again cannot help. */
export interface Outcome {
  readonly ok: boolean
  readonly status: number | null
  /** What the receiver said, or why it could not be reached. */
  readonly response: string
  readonly isFinal: boolean
  readonly retryAfterMs: number | null
}

const failed = (response: string): Outcome => ({
  ok: false,
  status: null,
  response,
  isFinal: false,
  retryAfterMs: null,
})

const reasonOf = (error: unknown): string => {
  if (error instanceof RefusedAddress) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'Nothing listens there (connection refused).'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'There is no host of this name.'
  if ((error as Error).name === 'TimeoutError') return `No answer within ${TIMEOUT_MS / 1000} s.`
  return message || String(code ?? error)
}

/** The receiver will never take this one: neither its address, nor its key, nor the time is at fault. */
const REFUSES_BODY = new Set([400, 413, 415, 422])

const sendWeb = (message: Message, allowPrivate: boolean, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const url = new URL(message.url)
    requireAllowedHost(url.hostname, allowPrivate)
    const open = url.protocol === 'https:' ? requestHttps : requestHttp
    const headers = { 'user-agent': 'tributary', ...message.headers, 'content-length': String(message.body.length) }
    const options = { method: 'POST', headers, signal, agent: false, lookup: guardedLookup(allowPrivate) }
    const sent = open(url, options, (answer) => {
      const chunks: Buffer[] = []
      let size = 0
      const finish = (): void => {
        const status = answer.statusCode ?? 0
        const text = Buffer.concat(chunks).toString('utf8').slice(0, SHOWN_CHARACTERS)
        const wait = Number(answer.headers['retry-after'])
        resolve({
          ok: status >= 200 && status < 300,
          status,
          // A redirect could lead anywhere.
          response:
            status >= 300 && status < 400 ? 'It redirects, which is not followed: name its final address.' : text,
          isFinal: REFUSES_BODY.has(status),
          retryAfterMs: Number.isFinite(wait) && wait > 0 ? Math.min(wait, 3600) * 1000 : null,
        })
      }
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= 64 * 1024) chunks.push(chunk)
        else answer.destroy()
      })
      answer.once('close', finish)
      answer.on('error', () => undefined)
    })
    sent.once('error', reject)
    sent.end(message.body)
  })

const sendTcp = (message: Message, allowPrivate: boolean, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(message.url)
    requireAllowedHost(hostname, allowPrivate)
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port || 514), lookup: guardedLookup(allowPrivate), signal })
    socket.once('error', reject)
    // The receiver says nothing of its own: what it has taken is known when it has closed its side too.
    socket.once('connect', () => socket.end(message.body))
    socket.once('close', () => resolve({ ...failed('Sent; this protocol has no answers.'), ok: true }))
    socket.resume()
  })

const sendUdp = async (message: Message, allowPrivate: boolean): Promise<Outcome> => {
  const { hostname, port } = new URL(message.url)
  requireAllowedHost(hostname, allowPrivate)
  const find = guardedLookup(allowPrivate)
  // The socket would look up the address that it binds to, too.
  const { address, family } = await new Promise<{ address: string; family: number }>((resolve, reject) => {
    find(hostname.replace(/^\[|\]$/g, ''), { all: false }, (error, found, foundFamily) =>
      error === null ? resolve({ address: String(found), family: Number(foundFamily) }) : reject(error),
    )
  })
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.send(message.body, Number(port || 514), address, (error) => (error === null ? resolve() : reject(error)))
    })
  } finally {
    socket.close()
  }
  return { ...failed('Sent; this protocol has no answers.'), ok: true }
}

/** Sends once. Never throws: what went wrong is in the outcome. */
export const send = async (message: Message, allowPrivate: boolean, stopped: AbortSignal): Promise<Outcome> => {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    const { protocol } = new URL(message.url)
    if (protocol === 'udp:') return await sendUdp(message, allowPrivate)
    if (protocol === 'tcp:') return await sendTcp(message, allowPrivate, signal)
    return await sendWeb(message, allowPrivate, signal)
  } catch (error) {
    return failed(reasonOf(signal.aborted ? signal.reason : error))
  }
}
