import { InferenceError } from '../../errors.ts'
import type { Failure } from './protocol.ts'

/** Errors lose their class between processes: these carry what the other side needs to make them again. */
export const failureOf = (error: unknown): Failure =>
  error instanceof InferenceError
    ? { code: error.code, message: error.message, param: error.param }
    : { code: 'engine_failed', message: error instanceof Error ? error.message : String(error), param: null }

export const errorOf = ({ code, message, param }: Failure): InferenceError =>
  new InferenceError(code, message, param === null ? {} : { param })
