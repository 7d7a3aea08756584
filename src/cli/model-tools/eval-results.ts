import { createHash } from 'node:crypto'
import { appendFile, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { addPathToError } from '../../platform/files/durable-file.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { PromptLine } from '../inference/prompt-file.ts'
import { isSameFile } from '../result-files.ts'

/** The result of one model for one line. */
export interface LineResult {
  /** Counts the non-empty lines, from 1. */
  readonly line: number
  readonly model: string
  /** null if the server refused; `error` has the reason. */
  readonly output: string | null
  readonly error: string | null
  readonly latency_ms: number
  /** null if there is no expected output or the metric was not requested. */
  readonly similarity: number | null
  /** Why the similarity was not measured; absent in files of earlier versions. */
  readonly similarity_error?: string | null
  readonly exact_match: boolean | null
  /** A hash of everything that the result depends on: a changed line is evaluated again. */
  readonly key: string
}

export const keyOf = (model: string, prompt: PromptLine, settings: readonly unknown[]): string =>
  createHash('sha256')
    .update(JSON.stringify([model, prompt.messages, prompt.expected, ...settings]))
    .digest('hex')
    .slice(0, 16)

/** @throws Failure if results cannot be appended to the file: it is the test data or not a regular file, or has no folder */
export const requireResultsFile = async (path: string, testData: string): Promise<void> => {
  if (await isSameFile(path, testData)) {
    throw wrongUsage(
      '--results and --test-data are the same file.',
      'Choose another file for --results: results are appended to it.',
    )
  }
  const found = await stat(path).catch(() => null)
  if (found === null) {
    const folder = dirname(path)
    if ((await stat(folder).catch(() => null))?.isDirectory()) return
    throw wrongUsage(`There is no folder ${folder} for --results.`, 'Create it, or choose another file.')
  }
  if (found.isFile()) return
  throw wrongUsage(
    `--results ${path} is ${found.isDirectory() ? 'a folder' : 'not a regular file'}.`,
    'Choose a file: a repeated run reads the results in it.',
  )
}

const isResult = (value: unknown): value is LineResult => {
  if (typeof value !== 'object' || value === null) return false
  const { line, key } = value as Partial<LineResult>
  return typeof line === 'number' && typeof key === 'string'
}

/** The beginning of each line of results, as written by JSON.stringify. */
const BEGINNING = '{"output":'

/** True if the text may be a first result that was cut off. */
const isCutOff = (text: string): boolean => {
  const line = text.trim()
  return !line.includes('\n') && (line.startsWith(BEGINNING) || BEGINNING.startsWith(line))
}

/**
 * Returns the results of an earlier run, by line and key. Skips lines that were cut off.
 * @throws Failure if the file contains something else
 */
export const readResults = async (path: string): Promise<ReadonlyMap<string, LineResult>> => {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    return addPathToError(path)(error)
  })
  const found = new Map<string, LineResult>()
  for (const line of text.split('\n')) {
    try {
      const result: unknown = JSON.parse(line)
      if (isResult(result)) found.set(`${result.line} ${result.key}`, result)
    } catch {
      // Skips a line that is cut off or empty.
    }
  }
  if (found.size === 0 && text.trim() !== '' && !isCutOff(text)) {
    throw new Failure(`${path} contains something other than results of svc eval, and was left as it is.`, {
      advice: 'Choose another file with --results.',
    })
  }
  if (text !== '' && !text.endsWith('\n')) await appendFile(path, '\n').catch(addPathToError(path))
  return found
}
