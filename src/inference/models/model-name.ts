import { InferenceError } from '../errors.ts'

export interface ModelName {
  readonly name: string
  readonly variant: string | null
}

/** One level of folder, readable on every file system, and nothing that could lead out of it. */
const PART = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

const isReserved = (part: string): boolean => /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(part) || part.endsWith('.')

/** Whether a word is a place rather than a name: with a folder in it, or with a model file's ending. */
export const looksLikePath = (text: string): boolean => /[/\\]|^\.|^~|\.(gguf|onnx)$/i.test(text)

/**
 * `qwen3:4bit` -> qwen3 and 4bit.
 * @throws InferenceError model_not_found when it can be no name.
 */
export const parseModelName = (text: string): ModelName => {
  const [name, variant, ...rest] = text.split(':')
  const parts = variant === undefined ? [name!] : [name!, variant]
  if (rest.length > 0 || parts.some((part) => !PART.test(part) || isReserved(part))) {
    throw new InferenceError(
      'model_not_found',
      `'${text.slice(0, 100)}' cannot be the name of a model. Names look like qwen3 or qwen3:4bit: letters, digits, '.', '_' and '-'.`,
      { param: 'model' },
    )
  }
  return { name: name!, variant: variant ?? null }
}
