import { createHash } from 'node:crypto'
import { appendFile, readFile, stat } from 'node:fs/promises'
import { Failure, wrongUsage } from '../failure.ts'
import type { PromptLine } from '../inference/prompt-file.ts'
import { isSameFile } from '../result-files.ts'

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

/** @throws Failure where results cannot be added to the file: it is the test data, or no file */
export const requireResultsFile = async (path: string, testData: string): Promise<void> => {
  if (await isSameFile(path, testData)) {
    throw wrongUsage('--results names the file of --test-data.', 'Name another file: results are added to it.')
  }
  const found = await stat(path).catch(() => null)
  if (found === null || found.isFile()) return
  throw wrongUsage(
    `--results ${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}.`,
    'Name a file: a repeated run reads the results in it.',
  )
}

const isResult = (value: unknown): value is LineResult => {
  if (typeof value !== 'object' || value === null) return false
  const { line, key } = value as Partial<LineResult>
  return typeof line === 'number' && typeof key === 'string'
}

/** What each line of results begins with, as it is written. */
const BEGINNING = '{"output":'

/** The first result may have been cut off. */
const isCutOff = (text: string): boolean => {
  const line = text.trim()
  return !line.includes('\n') && (line.startsWith(BEGINNING) || BEGINNING.startsWith(line))
}

/**
 * Results of an earlier run, by key and line. A line that was cut off when it was written is left out.
 * @throws Failure for a file of something else
 */
export const readResults = async (path: string): Promise<ReadonlyMap<string, LineResult>> => {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const found = new Map<string, LineResult>()
  for (const line of text.split('\n')) {
    try {
      const result: unknown = JSON.parse(line)
      if (isResult(result)) found.set(`${result.line} ${result.key}`, result)
    } catch {
      // Cut off, or empty.
    }
  }
  if (found.size === 0 && text.trim() !== '' && !isCutOff(text)) {
    throw new Failure(`${path} holds something other than results of svc eval, and was left as it is.`, {
      advice: 'Name another file with --results.',
    })
  }
  if (text !== '' && !text.endsWith('\n')) await appendFile(path, '\n')
  return found
}
