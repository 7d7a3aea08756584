import { anySignal } from '../../domain/any-signal.ts'
import { isObject } from '../../domain/is-object.ts'
import { Failure } from '../failure.ts'
import type { Io } from '../io.ts'
import type { Session } from '../session.ts'

/** An inference server that responds. */
export interface RunningServer {
  /** Without /v1. */
  readonly url: string
  /** Model names, the main one first. */
  readonly models: readonly string[]
}

/** The key for inference servers, used by `svc serve` and its clients. */
export const serverKey = (env: Io['env']): string | null => env.SERVICE_SERVER_KEY || null

/** The connection failed or timed out, which may pass while a server starts. */
export class NoResponse extends Failure {}

const TIMEOUT_MS = 5000

const namesIn = (body: unknown): readonly string[] | null => {
  const data = isObject(body) ? body.data : null
  if (!Array.isArray(data)) return null
  return data.flatMap((model: unknown) => (isObject(model) && typeof model.id === 'string' ? [model.id] : []))
}

/**
 * Returns the server at an address; null if nothing is listening there.
 * @throws Failure if the address is not a usable inference server
 */
export const serverAt = async (url: string, { io }: Pick<Session, 'io'>): Promise<RunningServer | null> => {
  const { signal } = io
  const key = serverKey(io.env)
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let response: Response
  try {
    response = await fetch(`${url}/v1/models`, {
      signal: anySignal(signal, timeout),
      ...(key !== null && { headers: { authorization: `Bearer ${key}` } }),
    })
  } catch (error) {
    signal.throwIfAborted()
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code === 'ECONNREFUSED') return null
    throw new NoResponse(`There is no inference server at ${url}: ${code ?? (error as Error).message}.`, {
      advice: 'Choose another address or port.',
    })
  }
  if (response.status === 401) {
    throw new Failure(
      `The inference server at ${url} ${key === null ? 'requires a key' : 'rejected the key in SERVICE_SERVER_KEY'}.`,
      {
        advice: 'Set SERVICE_SERVER_KEY to the key that it was started with.',
      },
    )
  }
  const models = namesIn(await response.json().catch(() => null))
  if (response.ok && models !== null && models.length > 0) return { url, models }
  throw new Failure(`The program at ${url} is not an inference server: it lists no models at /v1/models.`, {
    advice: 'Choose another address or port, or stop that program.',
  })
}
