import { resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import { ENGINE_NAMES } from '../../inference/engines/engine.ts'
import { wrongUsage } from '../failure.ts'
import { numberFrom } from '../options.ts'
import type { Session } from '../session.ts'

const ENGINES = `auto, ${ENGINE_NAMES.join(', ')}, or the address of an OpenAI-compatible server`

const toEngine = (text: string): string => {
  if (text === 'auto' || ENGINE_NAMES.some((name) => name === text) || text.includes('://')) return text
  throw new InvalidArgumentError(`It must be ${ENGINES}.`)
}

export const engineOption = (): Option =>
  new Option('-e, --engine <engine>', `engine: ${ENGINES}`).argParser(toEngine).default('auto')

export const threadsOption = (): Option =>
  new Option(
    '--threads <count>',
    'number of compute threads (default: all cores for models of 256 MiB and more, else one less)',
  ).argParser(numberFrom({ min: 1, max: 1024 }))

export const maxTokensOption = (fallback: number): Option =>
  new Option('--max-tokens <count>', 'maximum number of tokens to generate')
    .argParser(numberFrom({ min: 1, max: 1_000_000 }))
    .default(fallback)

export const contextOption = (): Option =>
  new Option(
    '--context <tokens>',
    "context length: prompt and reply together (default: the model's, up to 4096)",
  ).argParser(numberFrom({ min: 16, max: 10_000_000 }))

/** Returns the given model, otherwise SERVICE_MODEL. */
export const modelOrDefault = (given: string | undefined, { io }: Session): string => {
  const name = given || io.env.SERVICE_MODEL
  if (name) return name
  throw wrongUsage(
    'No model was given.',
    'Give one, such as starter, or set SERVICE_MODEL. List local models with: svc list models',
  )
}

export const loraOption = (): Option =>
  new Option('--lora <file>', 'LoRA adapter of the model, a GGUF file; repeatable').argParser(
    (path: string, before: readonly string[] = []) => [...before, path],
  )

export const loraPaths = (given: readonly string[] = [], { io }: Session): readonly string[] =>
  given.map((path) => resolve(io.cwd, path))

/** Parses `small,medium`. */
export const parseNames = (text: string): readonly string[] => {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
  if (names.length > 0) return names
  throw new InvalidArgumentError('It must be one or more names, separated by commas.')
}
