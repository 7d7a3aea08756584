import { basename } from 'node:path'
import { InferenceError } from '../../errors.ts'

/** `fault` continues "The model file NAME": it names the key or tensor and what is wrong with it. */
export const invalidModel = (path: string, fault: string): InferenceError =>
  new InferenceError('invalid_model', `The model file '${basename(path)}' ${fault}`)

/** Text from a broken file, made fit for a message. */
export const quoted = (text: string): string => `'${text.replace(/[^\x20-\x7e]/g, '?').slice(0, 80)}'`
