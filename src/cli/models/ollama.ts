import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCredentials } from '../../domain/address-credentials.ts'
import { anySignal } from '../../domain/any-signal.ts'
import { ollamaFolder } from '../../inference/sources/local-ollama.ts'
import type { Io } from '../io.ts'

/** A model in Ollama. */
export interface OllamaModel {
  readonly name: string
  readonly bytes: number
  readonly quantization: string | null
}

const TIMEOUT_MS = 3000
const PORT = 11_434

/** Parses OLLAMA_HOST like Ollama: a host, a host with a port, or a URL. @throws Error if it is none of them */
export const ollamaAddress = ({ OLLAMA_HOST }: Io['env']): string => {
  const given = OLLAMA_HOST?.trim() || `127.0.0.1:${PORT}`
  const text = /^https?:/.test(given) ? given : `http://${given}`
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw new Error('OLLAMA_HOST is not an address, such as 127.0.0.1:11434')
  if (hasCredentials(url)) throw new Error('OLLAMA_HOST contains a user name or password')
  // A wildcard address to listen on cannot be connected to.
  const host = ['0.0.0.0', '[::]'].includes(url.hostname) ? '127.0.0.1' : url.hostname
  const port = url.port || (/^https?:/.test(given) ? '' : String(PORT))
  return `${url.protocol}//${host}${port && `:${port}`}`
}

/** Returns the folder with Ollama's model files; null if it is not found on this machine. */
export const ollamaBlobs = async (env: Io['env']): Promise<string | null> => {
  const folder = join(ollamaFolder(env), 'blobs')
  return (await stat(folder).catch(() => null))?.isDirectory() ? folder : null
}

const modelIn = (value: unknown): OllamaModel[] => {
  const { name, size, details } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof name !== 'string') return []
  const level = ((details ?? {}) as Readonly<Record<string, unknown>>).quantization_level
  return [{ name, bytes: typeof size === 'number' ? size : 0, quantization: typeof level === 'string' ? level : null }]
}

/** Lists the models of a running Ollama. @throws Error with a short reason if it cannot be reached */
export const ollamaModels = async (env: Io['env'], signal: AbortSignal): Promise<readonly OllamaModel[]> => {
  const address = ollamaAddress(env)
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  let response: Response
  try {
    response = await fetch(`${address}/api/tags`, { signal: anySignal(signal, timeout) })
  } catch (error) {
    signal.throwIfAborted()
    throw new Error(`nothing responds at ${address} (OLLAMA_HOST)`, { cause: error })
  }
  const body = (await response.json().catch(() => null)) as { readonly models?: unknown } | null
  if (!response.ok || !Array.isArray(body?.models)) throw new Error(`the program at ${address} is not Ollama`)
  return body.models.flatMap(modelIn)
}
