import { stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Io } from '../io.ts'

/** A model that Ollama holds. */
export interface OllamaModel {
  readonly name: string
  readonly bytes: number
  readonly quantization: string | null
}

const TIMEOUT_MS = 3000
const PORT = 11_434

/** OLLAMA_HOST as Ollama reads it: a host, a host with a port, or an address. */
export const ollamaAddress = ({ OLLAMA_HOST }: Io['env']): string => {
  const given = OLLAMA_HOST?.trim() || `127.0.0.1:${PORT}`
  const url = new URL(/^https?:/.test(given) ? given : `http://${given}`)
  // What a server listens on is nothing to connect to.
  const host = ['0.0.0.0', '[::]'].includes(url.hostname) ? '127.0.0.1' : url.hostname
  const port = url.port || (/^https?:/.test(given) ? '' : String(PORT))
  return `${url.protocol}//${host}${port && `:${port}`}`
}

/** The folder that holds its models' files; null when it is not on this machine, or elsewhere. */
export const ollamaBlobs = async ({ OLLAMA_MODELS }: Io['env']): Promise<string | null> => {
  const folder = join(OLLAMA_MODELS || join(homedir(), '.ollama', 'models'), 'blobs')
  return (await stat(folder).catch(() => null))?.isDirectory() ? folder : null
}

const modelIn = (value: unknown): OllamaModel[] => {
  const { name, size, details } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof name !== 'string') return []
  const level = ((details ?? {}) as Readonly<Record<string, unknown>>).quantization_level
  return [{ name, bytes: typeof size === 'number' ? size : 0, quantization: typeof level === 'string' ? level : null }]
}

/** What a running Ollama lists. @throws Error that says in a few words why it cannot be asked. */
export const ollamaModels = async (env: Io['env'], signal?: AbortSignal): Promise<readonly OllamaModel[]> => {
  const address = ollamaAddress(env)
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let response: Response
  try {
    response = await fetch(`${address}/api/tags`, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout })
  } catch (error) {
    signal?.throwIfAborted()
    throw new Error(`nothing answers at ${address} (OLLAMA_HOST)`, { cause: error })
  }
  const body = (await response.json().catch(() => null)) as { readonly models?: unknown } | null
  if (!response.ok || !Array.isArray(body?.models)) throw new Error(`what answers at ${address} is not Ollama`)
  return body.models.flatMap(modelIn)
}
