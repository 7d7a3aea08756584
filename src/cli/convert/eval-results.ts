import { createHash } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import type { PromptLine } from '../inference/prompt-file.ts'

/** What one model made of one line. */
export interface LineResult {
  /** From 1, of the lines that are not empty. */
  readonly line: number
  readonly model: string
  /** null where the server refused: `error` says why. */
  readonly output: string | null
  readonly error: string | null
  readonly latency_ms: number
  /** null where nothing was expected, or it was not asked for. */
  readonly similarity: number | null
  readonly exact_match: boolean | null
  /** Of all that the result follows from: a line that was changed is evaluated again. */
  readonly key: string
}

export const keyOf = (model: string, prompt: PromptLine, settings: readonly unknown[]): string =>
  createHash('sha256')
    .update(JSON.stringify([model, prompt.messages, prompt.expected, ...settings]))
    .digest('hex')
    .slice(0, 16)

/** Results of an earlier run, by key and line. A line that was cut off when it was written is left out. */
export const readResults = async (path: string): Promise<ReadonlyMap<string, LineResult>> => {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const found = new Map<string, LineResult>()
  for (const line of text.split('\n')) {
    try {
      const result = JSON.parse(line) as LineResult
      found.set(`${result.line} ${result.key}`, result)
    } catch {
      // Cut off, or empty.
    }
  }
  if (text !== '' && !text.endsWith('\n')) await appendFile(path, '\n')
  return found
}
