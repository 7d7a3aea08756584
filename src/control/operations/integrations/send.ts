import { createSocket } from 'node:dgram'
import { type IncomingHttpHeaders, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { connect } from 'node:net'
import { isUnknownAuthority } from '../../../domain/certificate-advice.ts'
import { cut } from '../../../domain/text.ts'
import type { Refusal } from './bulk-responses.ts'
import { guardedLookup, RefusedAddress, requireAllowedHost } from './guarded-address.ts'

const TIMEOUT_MS = 10_000
/** For requests that depend on each other. Less than a lease, which also covers the writes around them. */
export const MAX_SENDING_MS = 25_000
const SHOWN_CHARACTERS = 500
const MAX_ANSWER_BYTES = 1024 * 1024
const MAX_WAIT_S = 3600
export const MAX_REASON = 500
const MIN_SECRET_CHARACTERS = 8

export interface Message {
  /** POST if absent. */
  readonly method?: 'GET'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** For a receiver that reports success, and in its response what it has not stored. */
  readonly refusalIn?: (response: string) => Refusal | null
}

/** The outcome of a message. `isFinal`: sending the same again cannot help. */
export interface Outcome {
  readonly ok: boolean
  readonly status: number | null
  /** The beginning of the receiver's response, or why it could not be reached. */
  readonly response: string
  /** Its whole response, up to 1 MiB. */
  readonly body: string
  readonly isFinal: boolean
  readonly retryAfterMs: number | null
}

export const failed = (response: string): Outcome => ({
  ok: false,
  status: null,
  response,
  body: '',
  isFinal: false,
  retryAfterMs: null,
})

/** Returns a message for people about an outcome that is not ok. */
export const reasonOf = ({ status, response }: Outcome): string =>
  (status === null ? response : `The receiver returned ${status}: ${response.trim() || 'nothing'}`).slice(0, MAX_REASON)

/** A failed attempt; `outcome` says why. */
export class Unsuccessful extends Error {
  override readonly name = 'Unsuccessful'
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    super(outcome.response)
    this.outcome = outcome
  }
}

/** Returns the outcome of an expected error; throws all others. */
export const outcomeOf = (error: unknown): Outcome => {
  if (error instanceof Unsuccessful) return error.outcome
  throw error
}

const faultOf = (error: unknown): string => {
  if (error instanceof RefusedAddress) return error.message
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'Nothing listens there (connection refused).'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'There is no host with this name.'
  if (isUnknownAuthority(code ?? ''))
    return (
      `The service does not know the authority of the receiver's certificate (${code}). Start it with NODE_EXTRA_CA_CERTS set ` +
      "to the file of that authority's certificate."
    )
  return message || String(code ?? error)
}

/** The receiver will never accept this event: the cause is not the address, the key, or the time. */
const REFUSES_BODY = new Set([400, 413, 415, 422])
export const refusesBody = (status: number): boolean => REFUSES_BODY.has(status)

/** RFC 9110, section 10.2.3: seconds, or a date, which is compared with the receiver's own clock if it sends its time. */
const waitOf = (headers: IncomingHttpHeaders): number | null => {
  const text = headers['retry-after']
  if (text === undefined) return null
  const receiverTime = Date.parse(headers.date ?? '')
  const seconds = Number.isNaN(Number(text))
    ? (Date.parse(text) - (Number.isNaN(receiverTime) ? Date.now() : receiverTime)) / 1000
    : Number(text)
  return seconds > 0 ? Math.min(seconds, MAX_WAIT_S) * 1000 : null
}

/** Removes secrets from a response that is shown: a receiver may repeat what it was sent. */
export const withoutSecrets = (text: string, headers: Message['headers']): string =>
  Object.entries(headers)
    .filter(([name]) => !name.startsWith('content-'))
    .flatMap(([, value]) => [value, ...value.split(' ')])
    .filter((word) => word.length >= MIN_SECRET_CHARACTERS)
    .reduce((shown, word) => shown.replaceAll(word, '(secret)'), text)

const sendWeb = (message: Message, allowPrivate: boolean, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const url = new URL(message.url)
    requireAllowedHost(url.hostname, allowPrivate)
    const open = url.protocol === 'https:' ? requestHttps : requestHttp
    const headers = { 'user-agent': 'tributary', ...message.headers, 'content-length': String(message.body.length) }
    const options = {
      method: message.method ?? 'POST',
      headers,
      signal,
      agent: false,
      lookup: guardedLookup(allowPrivate),
    }
    const sent = open(url, options, (response) => {
      const chunks: Buffer[] = []
      let size = 0
      const finish = (): void => {
        const answered = response.statusCode ?? 0
        const body = Buffer.concat(chunks).toString('utf8')
        const isSuccess = answered >= 200 && answered < 300
        const refusal = isSuccess ? (message.refusalIn?.(body) ?? null) : null
        const status = refusal?.status ?? answered
        resolve({
          ok: isSuccess && refusal === null,
          status,
          // A redirect could lead anywhere.
          response:
            answered >= 300 && answered < 400
              ? 'It sends a redirect, which is not followed: use its final address.'
              : cut(withoutSecrets(refusal?.response ?? body, message.headers), SHOWN_CHARACTERS),
          body,
          isFinal: refusesBody(status),
          retryAfterMs: waitOf(response.headers),
        })
      }
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= MAX_ANSWER_BYTES) chunks.push(chunk)
        else response.destroy()
      })
      response.once('close', finish)
      response.on('error', () => undefined)
    })
    sent.once('error', reject)
    sent.end(message.body)
  })

const sendTcp = (message: Message, allowPrivate: boolean, signal: AbortSignal): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(message.url)
    requireAllowedHost(hostname, allowPrivate)
    const host = hostname.replace(/^\[|\]$/g, '')
    const socket = connect({ host, port: Number(port), lookup: guardedLookup(allowPrivate), signal })
    socket.once('error', reject)
    // The receiver sends no response: it has received everything when it has closed its side too.
    socket.once('connect', () => socket.end(message.body))
    socket.once('close', () => resolve({ ...failed('Sent; this protocol has no responses.'), ok: true }))
    socket.resume()
  })

const sendUdp = async (message: Message, allowPrivate: boolean): Promise<Outcome> => {
  const { hostname, port } = new URL(message.url)
  requireAllowedHost(hostname, allowPrivate)
  const find = guardedLookup(allowPrivate)
  // The socket would also look up the address that it binds to.
  const { address, family } = await new Promise<{ address: string; family: number }>((resolve, reject) => {
    find(hostname.replace(/^\[|\]$/g, ''), { all: false }, (error, found, foundFamily) =>
      error === null ? resolve({ address: String(found), family: Number(foundFamily) }) : reject(error),
    )
  })
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4')
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.send(message.body, Number(port), address, (error) => (error === null ? resolve() : reject(error)))
    })
  } finally {
    socket.close()
  }
  return { ...failed('Sent; this protocol has no responses.'), ok: true }
}

/**
 * Sends once, within ten seconds, or within `leftMs`, the rest of `MAX_SENDING_MS`, if that is less. Never throws: the outcome
 * contains the error.
 * @param stopped lasts as long as the service; a signal derived from it would leave a reference in it for every message
 */
export const send = async (
  message: Message,
  allowPrivate: boolean,
  stopped: AbortSignal,
  leftMs = TIMEOUT_MS,
): Promise<Outcome> => {
  const ending = new AbortController()
  const { signal } = ending
  const stop = (): void => ending.abort(stopped.reason)
  const fault =
    leftMs < TIMEOUT_MS
      ? `Its responses took longer than ${MAX_SENDING_MS / 1000} s in total.`
      : `No response within ${TIMEOUT_MS / 1000} s.`
  const expire = (): void => ending.abort(new Error(fault))
  if (stopped.aborted) stop()
  stopped.addEventListener('abort', stop)
  const timer = setTimeout(expire, Math.min(leftMs, TIMEOUT_MS))
  try {
    const { protocol } = new URL(message.url)
    if (protocol === 'udp:') return await sendUdp(message, allowPrivate)
    if (protocol === 'tcp:') return await sendTcp(message, allowPrivate, signal)
    return await sendWeb(message, allowPrivate, signal)
  } catch (error) {
    return failed(faultOf(signal.aborted ? signal.reason : error))
  } finally {
    clearTimeout(timer)
    stopped.removeEventListener('abort', stop)
  }
}
