import { setTimeout as wait } from 'node:timers/promises'
import { count, type Records } from './records.ts'

export interface ApiResponse {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** No definite response came before the run was over. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp'
}

const PASSING = new Set([429, 502, 503, 504, 507])

export type Body = object | FormData | Uint8Array

export interface Operator {
  readonly key: string
  /** Sends a request once; null if there is no response or a transient one. */
  once(method: string, path: string, body?: Body, headers?: Record<string, string>): Promise<ApiResponse | null>
  /** Repeats the request until there is a definite response, like careful clients. */
  ask(method: string, path: string, body?: Body, headers?: Record<string, string>): Promise<ApiResponse>
  /** Returns the bytes of a file; null if they did not arrive completely. */
  bytes(path: string): Promise<{ readonly status: number; readonly bytes: Buffer } | null>
}

/** A client with a key that retries after errors. */
export const createOperator = (url: string, key: string, records: Records, isOver: () => boolean): Operator => {
  const send = (method: string, path: string, body?: Body, headers: Record<string, string> = {}) => {
    const isRaw = body instanceof FormData || body instanceof Uint8Array
    return fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        ...(key !== '' && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && !isRaw && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isRaw ? (body as BodyInit) : JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    })
  }
  const once: Operator['once'] = async (method, path, body, headers) => {
    try {
      const response = await send(method, path, body, headers)
      const text = await response.text()
      if (response.status === 500) count(records, `500 at ${method} ${path.replace(/[0-9a-f-]{32,}/g, '…')}`)
      if (PASSING.has(response.status) || response.status === 500) return null
      const offset = response.headers.get('upload-offset')
      const parsed = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
      return { status: response.status, body: { ...parsed, ...(offset !== null && { offset: Number(offset) }) } }
    } catch {
      return null
    }
  }
  return {
    key,
    once,
    ask: async (method, path, body, headers) => {
      for (;;) {
        const response = await once(method, path, body, headers)
        if (response !== null) return response
        if (isOver()) throw new GivenUp(`${method} ${path}`)
        await wait(300)
      }
    },
    bytes: async (path) => {
      try {
        const response = await send('GET', path)
        if (PASSING.has(response.status)) return null
        return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) }
      } catch {
        return null
      }
    },
  }
}
