import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isObject } from '../../domain/is-object.ts'
import type { ChatMessage } from '../../inference/engines/engine.ts'
import { Failure } from '../failure.ts'

/** One line of a prompt file. */
export interface PromptLine {
  readonly messages: readonly ChatMessage[]
  /** The expected answer; null if the reference model's answer is used instead. */
  readonly expected: string | null
}

const ROLES = ['system', 'user', 'assistant'] as const

const isMessage = (value: unknown): value is ChatMessage => {
  if (!isObject(value)) return false
  const { role, content } = value
  return ROLES.some((known) => known === role) && typeof content === 'string'
}

/** Parses `{"input": …}`, optionally with `expected_output`, or `{"messages": […]}`. Returns a string if invalid. */
const parseLine = (line: string): PromptLine | string => {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'it is not JSON'
  }
  if (!isObject(value)) return 'it is not an object'
  const { input, messages, expected_output: expected = null } = value
  if (expected !== null && typeof expected !== 'string') return 'expected_output is not a string'
  if (typeof input === 'string' && input.trim() !== '')
    return { messages: [{ role: 'user', content: input }], expected }
  if (!Array.isArray(messages)) return 'it has neither input (a string) nor messages'
  if (messages.length > 0 && messages.every(isMessage)) return { messages, expected }
  return 'its messages are not a list of {role: system, user, or assistant; content: a string}'
}

/** The system's error for reading a folder does not include its name. */
export const nameFolder = (given: string) => (error: NodeJS.ErrnoException) => {
  if (error.code === 'EISDIR') throw new Failure(`${given} is a folder. Give the path of a file.`, { cause: error })
  throw error
}

/** JavaScript's longest string is a little longer. */
const MAX_MEGABYTES = 500

/** Reads prompts from a file with one JSON object per line. @throws Failure that names the line */
export const readPrompts = async (given: string, cwd: string): Promise<readonly PromptLine[]> => {
  const path = resolve(cwd, given)
  const { size } = await stat(path)
  if (size > MAX_MEGABYTES * 2 ** 20)
    throw new Failure(`${given} is larger than the limit of ${MAX_MEGABYTES} MB.`, {
      advice: 'Split it into several files.',
    })
  const lines = (await readFile(path, 'utf8').catch(nameFolder(given))).replace(/^\u{feff}/u, '').split('\n')
  const prompts: PromptLine[] = []
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const parsed = parseLine(line)
    if (typeof parsed === 'string') {
      throw new Failure(`${path}, line ${index + 1}: ${parsed}.`, {
        advice:
          'Each line looks like: {"input": "What is a rollout?", "expected_output": "…"}; expected_output is optional.',
      })
    }
    prompts.push(parsed)
  }
  if (prompts.length === 0) throw new Failure(`${path} contains no prompts.`)
  return prompts
}
