import { InferenceError } from '../errors.ts'

export interface ModelName {
  readonly name: string
  readonly variant: string | null
}

/** One path component that is valid on every file system and cannot leave its folder. */
const PART = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

const isReserved = (part: string): boolean => /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(part) || part.endsWith('.')

/** True if the text is a path rather than a name: it contains a separator or has the extension of a model file. */
export const looksLikePath = (text: string): boolean => /[/\\]|^\.|^~|\.(gguf|onnx)$/i.test(text)

/**
 * `qwen3:4bit` -> qwen3 and 4bit.
 * @throws InferenceError model_not_found if the text cannot be a name
 */
export const parseModelName = (text: string): ModelName => {
  const [name, variant, ...rest] = text.split(':')
  const parts = variant === undefined ? [name!] : [name!, variant]
  if (rest.length > 0 || parts.some((part) => !PART.test(part) || isReserved(part))) {
    throw new InferenceError(
      'model_not_found',
      `'${text.slice(0, 100)}' cannot be the name of a model. Names look like qwen3 or qwen3:4bit: letters, digits, '.', '_', and '-'.`,
      { param: 'model' },
    )
  }
  return { name: name!, variant: variant ?? null }
}
