import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeDurably } from '../platform/transfer/durable-file.ts'
import { Failure } from './failure.ts'

/** Writes JSON that only the owner may read. The write is atomic, even if another `svc` writes at the same time. */
export const writePrivate = async (path: string, value: unknown): Promise<void> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeDurably(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Reads the object in a JSON file; null if the file does not exist. */
export const readObject = async (path: string, advice: string): Promise<Readonly<Record<string, unknown>> | null> => {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    // The error for a folder lacks its path.
    throw Object.assign(error as Error, { path })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = null
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Failure(`${path} is damaged: it does not contain a JSON object.`, { advice })
}
