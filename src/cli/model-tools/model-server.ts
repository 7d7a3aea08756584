import { setTimeout as sleep } from 'node:timers/promises'
import { anySignal } from '../../domain/any-signal.ts'
import type { ChatMessage } from '../../inference/engines/engine.ts'
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
  /** Returns one vector per text; null if the model does not compute embeddings. */
  embed(model: string, texts: readonly string[]): Promise<readonly (readonly number[])[] | null>
}

export type ChatResult =
  | { readonly text: string; readonly milliseconds: number }
  | { readonly refused: string; readonly milliseconds: number }

const PROBE_MS = 5000
const REQUEST_MS = 600_000
const ATTEMPTS = 4
const MAX_WAIT_SECONDS = 30

type Body = Readonly<Record<string, unknown>>

const isBody = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value)

const wordsOf = (body: unknown, status: number): string => {
  const error = isBody(body) ? body.error : null
  const message = isBody(error) ? error.message : isBody(body) ? body.message : null
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
    session.io.signal?.throwIfAborted()
    const listed = found instanceof Error || found.status !== 200 ? null : namesIn(found.body)
    if (listed !== null) return serverOf(session, url, listed, send)
    faults.push(`${url}: ${found instanceof Error ? found.message : wordsOf(found.body, found.status)}`)
  }
  throw new Failure(`There is no inference server at ${base} (${faults.join('; ')}).`, {
    advice:
      'Start one (svc serve <model>) and name its address: --api-base http://127.0.0.1:8080. To use the service itself, sign in with svc login.',
  })
}

const namesIn = (body: unknown): readonly string[] | null => {
  const data = isBody(body) ? body.data : null
  return Array.isArray(data) ? data.filter(isBody).map(({ id }) => String(id)) : null
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

/** Retries when the server is busy or the connection breaks. @throws Failure after ATTEMPTS */
const persistent = async ({ io }: Session, url: string, send: () => Promise<Response>): Promise<Response> => {
  for (let attempt = 1; ; attempt++) {
    const found = await send().catch((error: Error) => error)
    io.signal?.throwIfAborted()
    const isTransient = found instanceof Error || found.status === 429 || found.status >= 500
    if (!isTransient) return found
    if (attempt === ATTEMPTS) {
      const fault = found instanceof Error ? found.message : wordsOf(found.body, found.status)
      throw new Failure(`${url} failed ${ATTEMPTS} times: ${fault}.`, {
        advice: 'With --results <file>, finished lines are kept: run the same command again to continue.',
      })
    }
    const seconds = (found instanceof Error ? null : found.retryAfter) ?? 2 ** (attempt - 2)
    await sleep(Math.min(seconds, MAX_WAIT_SECONDS) * 1000, undefined, io.signal ? { signal: io.signal } : {})
  }
}

const serverOf = (session: Session, url: string, models: readonly string[], send: Send): ModelServer => ({
  url,
  models,
  async chat(model, messages, maxTokens) {
    let started = 0
    const { status, body } = await persistent(session, url, () => {
      started = performance.now()
      return send('/chat/completions', { model, messages, max_tokens: maxTokens, temperature: 0 }, REQUEST_MS)
    })
    const milliseconds = performance.now() - started
    const words = wordsOf(body, status)
    if (status === 401 || status === 403 || status === 404) throw new Failure(`${url}: ${words}.`)
    if (status !== 200) return { refused: words, milliseconds }
    const choices: unknown = isBody(body) ? body.choices : null
    const choice: unknown = Array.isArray(choices) ? choices[0] : null
    const message = isBody(choice) ? choice.message : null
    const text = isBody(message) ? (message.content ?? '') : null
    return typeof text === 'string' ? { text, milliseconds } : { refused: 'The reply has no message.', milliseconds }
  },
  async embed(model, texts) {
    // Servers refuse to embed an empty text.
    const input = texts.map((text) => (text.trim() === '' ? '-' : text))
    const { status, body } = await persistent(session, url, () => send('/embeddings', { model, input }, REQUEST_MS))
    const data: unknown = isBody(body) ? body.data : null
    if (status !== 200 || !Array.isArray(data) || data.length !== texts.length) return null
    return data.map((one: unknown) => (isBody(one) && Array.isArray(one.embedding) ? one.embedding.map(Number) : []))
  },
})
