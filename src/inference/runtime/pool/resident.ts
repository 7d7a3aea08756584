import { sizeWords } from '../../../domain/sizes.ts'
import { InferenceError } from '../../errors.ts'

/** A large value that stays in memory while in use, and afterward until its room is needed. */
export interface Resident<Value> {
  readonly name: string
  /** The memory that it is expected to take, before it is loaded. */
  readonly expectedBytes: number
  load(): Promise<Value>
}

export interface Acquired<Value> {
  readonly value: Value
  /** May be called more than once. */
  release(): void
}

/** @param others the values in memory beside it, of which those with users cannot be closed; none if it does not fit alone */
export const outOfMemory = (
  name: string,
  bytes: number,
  budgetBytes: number,
  others: readonly { readonly name: string; readonly bytes: number; readonly users: number }[],
): InferenceError => {
  const need = `Model '${name}' needs ${sizeWords(bytes)} of memory`
  const limit = `the limit is ${sizeWords(budgetBytes)}`
  const inUse = others.flatMap((other) => (other.users > 0 ? [other.name] : []))
  if (inUse.length === 0) {
    const advice = 'Choose a smaller variant or a shorter context, or allow more memory.'
    return new InferenceError('out_of_memory', `${need}, and ${limit}. ${advice}`, { param: 'model' })
  }
  const held = sizeWords(others.reduce((sum, other) => sum + other.bytes, 0))
  const message = `${need}, ${limit}, and ${held} are in use by ${inUse.join(', ')}. Try again later.`
  return new InferenceError('out_of_memory', message, { param: 'model', retryAfterSeconds: 10 })
}

export const shuttingDown = (): InferenceError => new InferenceError('engine_failed', 'The server is shutting down.')
