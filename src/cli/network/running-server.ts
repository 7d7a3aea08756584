import { Failure } from '../failure.ts'

/** An inference server that answers. */
export interface RunningServer {
  /** Without /v1. */
  readonly url: string
  /** Names of its models, its main one first. */
  readonly models: readonly string[]
}

const TIMEOUT_MS = 5000

const namesIn = (body: unknown): readonly string[] | null => {
  const data = typeof body === 'object' && body !== null && 'data' in body ? body.data : null
  if (!Array.isArray(data)) return null
  return data.flatMap((model: unknown) =>
    typeof model === 'object' && model !== null && 'id' in model && typeof model.id === 'string' ? [model.id] : [],
  )
}

/**
 * The server at an address; null when nothing listens there.
 * @throws Failure when what listens there is not an inference server.
 */
export const serverAt = async (url: string, signal?: AbortSignal): Promise<RunningServer | null> => {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let response: Response
  try {
    response = await fetch(`${url}/v1/models`, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout })
  } catch (error) {
    signal?.throwIfAborted()
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    if (code === 'ECONNREFUSED') return null
    throw new Failure(`There is no inference server at ${url}: ${code ?? (error as Error).message}.`, {
      advice: 'Choose another address or port.',
    })
  }
  const models = namesIn(await response.json().catch(() => null))
  if (response.ok && models !== null && models.length > 0) return { url, models }
  throw new Failure(`The program at ${url} is not an inference server: it lists no models at /v1/models.`, {
    advice: 'Choose another address or port, or stop that program.',
  })
}
