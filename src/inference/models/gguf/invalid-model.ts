import { basename } from 'node:path'
import { InferenceError } from '../../errors.ts'

/** `fault` completes the sentence "The model file NAME ...": it names the key or tensor and the fault. */
export const invalidModel = (path: string, fault: string): InferenceError =>
  new InferenceError('invalid_model', `The model file '${basename(path)}' ${fault}`)

/** Quotes text from a broken file, sanitized and shortened for a message. */
export const quoted = (text: string): string => `'${text.replace(/[^\x20-\x7e]/g, '?').slice(0, 80)}'`
