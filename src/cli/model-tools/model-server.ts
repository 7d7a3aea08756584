import { setTimeout as sleep } from 'node:timers/promises'
import { anySignal } from '../../domain/any-signal.ts'
import { isObject } from '../../domain/is-object.ts'
import type { ChatMessage } from '../../inference/engines/engine.ts'
import { reasonOf } from '../../platform/transfer/transfer-error.ts'
import { Failure } from '../failure.ts'
import { serverKey } from '../network/running-server.ts'
import type { Session } from '../session.ts'

/** A model server with the OpenAI API. */
export interface ModelServer {
  /** The base URL, to which /chat/completions is appended. */
  readonly url: string
  readonly models: readonly string[]
  /** Returns the answer at temperature 0 and its duration, or the error message if the server refuses the request. */
  chat(model: string, messages: readonly ChatMessage[], maxTokens: number): Promise<ChatResult>
  /** Returns one vector per text, or the error message if the server refuses the request. */
  embed(model: string, texts: readonly string[]): Promise<EmbedResult>
}

export type EmbedResult = { readonly vectors: readonly (readonly number[])[] } | { readonly refused: string }

export type ChatResult =
  | { readonly text: string; readonly milliseconds: number }
  | { readonly refused: string; readonly milliseconds: number }

const PROBE_MS = 5000
const REQUEST_MS = 600_000
const ATTEMPTS = 4
const MIN_WAIT_SECONDS = 0.1
const MAX_WAIT_SECONDS = 30
/** As long as the slowest request that may occupy the server. */
const MAX_BUSY_MS = REQUEST_MS

type Body = Readonly<Record<string, unknown>>

const wordsOf = (body: unknown, status: number): string => {
  const error = isObject(body) ? body.error : null
  const message = isObject(error) ? error.message : isObject(body) ? body.message : null
  return typeof message === 'string' ? message.slice(0, 300).replace(/\.$/, '') : `HTTP ${status}`
}

/** The base URLs to try: a model server, then the service, which forwards inference requests. */
const candidates = async (session: Session, base: string): Promise<readonly { url: string; key: string | null }[]> => {
  const plain = base.replace(/\/v1$/, '')
  const key = await session.apiKey(plain)
  return [
    { url: `${plain}/v1`, key: serverKey(session.io.env) },
    ...(key === null ? [] : [{ url: `${plain}/api/v1/inference`, key: key.key }]),
  ]
}

/** @throws Failure if no model server responds at the address */
export const connectToModels = async (session: Session, base: string): Promise<ModelServer> => {
  const faults: string[] = []
  for (const { url, key } of await candidates(session, base)) {
    const send = sender(session, url, key)
    const found = await send('/models', null, PROBE_MS).catch((error: Error) => error)
    session.io.signal.throwIfAborted()
    const listed = found instanceof Error || found.status !== 200 ? null : namesIn(found.body)
    if (listed !== null) return serverOf(session, url, listed, send)
    faults.push(`${url}: ${found instanceof Error ? reasonOf(found) : wordsOf(found.body, found.status)}`)
  }
  throw new Failure(`There is no inference server at ${base} (${faults.join('; ')}).`, {
    advice:
      'Start one (svc serve <model>) and name its address: --api-base http://127.0.0.1:8080. To use the service itself, sign in with svc login.',
  })
}

const namesIn = (body: unknown): readonly string[] | null => {
  const data = isObject(body) ? body.data : null
  return Array.isArray(data) ? data.filter(isObject).map(({ id }) => String(id)) : null
}

interface Response {
  readonly status: number
  readonly body: unknown
  readonly retryAfter: number | null
}

type Send = (path: string, body: Body | null, timeoutMs: number) => Promise<Response>

const sender =
  ({ io }: Session, url: string, key: string | null): Send =>
  async (path, body, timeoutMs) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const response = await fetch(`${url}${path}`, {
      method: body === null ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) },
      ...(body !== null && { body: JSON.stringify(body) }),
      signal: anySignal(io.signal, timeout),
    })
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
    return {
      status: response.status,
      body: await response.json().catch(() => null),
      retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
    }
  }

/**
 * Retries when the server is busy or the connection breaks. A server that says when to try again has not failed: perhaps this
 * command's other requests occupy it.
 * @throws Failure after ATTEMPTS failures, or if the server has finished no request for MAX_BUSY_MS
 */
const createPersistent = ({ io }: Session, url: string) => {
  let lastFinished = performance.now()
  return async (send: () => Promise<Response>): Promise<Response> => {
    const started = performance.now()
    for (let failures = 0; ; ) {
      const found = await send().catch((error: Error) => error)
      io.signal.throwIfAborted()
      const [status, retryAfter] = found instanceof Error ? [null, null] : [found.status, found.retryAfter]
      if (!(found instanceof Error) && found.status !== 429 && found.status < 500) {
        lastFinished = performance.now()
        return found
      }
      const isBusy = (status === 429 || status === 503) && retryAfter !== null
      if (!isBusy) failures++
      if (failures === ATTEMPTS || (isBusy && performance.now() - Math.max(started, lastFinished) > MAX_BUSY_MS)) {
        const fault = found instanceof Error ? reasonOf(found) : wordsOf(found.body, found.status)
        const what = isBusy ? `has been busy for ${MAX_BUSY_MS / 60_000} minutes` : `failed ${ATTEMPTS} times`
        throw new Failure(`${url} ${what}: ${fault}.`, {
          advice: 'With --results <file>, finished lines are kept: run the same command again to continue.',
        })
      }
      const seconds = Math.max(retryAfter ?? 2 ** (failures - 2), MIN_WAIT_SECONDS)
      await sleep(Math.min(seconds, MAX_WAIT_SECONDS) * 1000, undefined, { signal: io.signal })
    }
  }
}

const serverOf = (session: Session, url: string, models: readonly string[], send: Send): ModelServer => {
  const persistent = createPersistent(session, url)
  return {
    url,
    models,
    async chat(model, messages, maxTokens) {
      let started = 0
      const { status, body } = await persistent(() => {
        started = performance.now()
        return send('/chat/completions', { model, messages, max_tokens: maxTokens, temperature: 0 }, REQUEST_MS)
      })
      const milliseconds = performance.now() - started
      const words = wordsOf(body, status)
      if (status === 401 || status === 403 || status === 404) throw new Failure(`${url}: ${words}.`)
      if (status !== 200) return { refused: words, milliseconds }
      const choices: unknown = isObject(body) ? body.choices : null
      const choice: unknown = Array.isArray(choices) ? choices[0] : null
      const message = isObject(choice) ? choice.message : null
      const text = isObject(message) ? (message.content ?? '') : null
      return typeof text === 'string' ? { text, milliseconds } : { refused: 'The reply has no message', milliseconds }
    },
    async embed(model, texts) {
      // Servers refuse to embed an empty text.
      const input = texts.map((text) => (text.trim() === '' ? '-' : text))
      const { status, body } = await persistent(() => send('/embeddings', { model, input }, REQUEST_MS))
      if (status !== 200) return { refused: wordsOf(body, status) }
      const data: unknown = isObject(body) ? body.data : null
      const vectors = (Array.isArray(data) ? data : []).map((one: unknown) =>
        isObject(one) && Array.isArray(one.embedding) ? one.embedding.map(Number) : [],
      )
      return vectors.length === texts.length ? { vectors } : { refused: 'The response has no vector for each text' }
    },
  }
}
