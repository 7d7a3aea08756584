import { InvalidArgumentError, Option } from 'commander'
import { wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'

/** A reader of numbers in a range, for options. */
export const numberFrom =
  (range: { readonly min: number; readonly max: number; readonly whole?: boolean }) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    const { min, max, whole = true } = range
    if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value
    throw new InvalidArgumentError(`It must be a ${whole ? 'whole number' : 'number'} from ${min} to ${max}.`)
  }

export const engineOption = (): Option =>
  new Option('-e, --engine <engine>', 'what runs it: auto, mlx-lm, llama.cpp, mnn, mlc-llm or onnxruntime').default(
    'auto',
  )

export const maxTokensOption = (fallback: number): Option =>
  new Option('--max-tokens <count>', 'the most tokens an answer may have')
    .argParser(numberFrom({ min: 1, max: 1_000_000 }))
    .default(fallback)

/** The model that was named, else the one that SERVICE_MODEL names. */
export const modelOrDefault = (given: string | undefined, { io }: Session): string => {
  const name = given || io.env.SERVICE_MODEL
  if (name) return name
  throw wrongUsage(
    'No model was named.',
    'Name one, such as starter, or set SERVICE_MODEL. What there is: svc list models',
  )
}
