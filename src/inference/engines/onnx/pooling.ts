import { join } from 'node:path'
import { isObject } from '../../../domain/is-object.ts'
import { InferenceError } from '../../errors.ts'
import { readJson, readObject } from './model-json.ts'

/** How the vectors of a text's tokens are combined. */
export type Pooling = 'mean' | 'cls' | 'max' | 'last'

/** Up to version 5, sentence-transformers writes a flag for each mode; from version 6 on, `pooling_mode` with one or more names. */
const MODES: ReadonlyMap<string, Pooling> = new Map([
  ['pooling_mode_cls_token', 'cls'],
  ['pooling_mode_max_tokens', 'max'],
  ['pooling_mode_lasttoken', 'last'],
  ['pooling_mode_mean_tokens', 'mean'],
  ['cls', 'cls'],
  ['max', 'max'],
  ['lasttoken', 'last'],
  ['mean', 'mean'],
])

/** Modules that are applied anyway, or that are the model itself. */
const KNOWN_MODULES = /\.(Transformer|Pooling|Normalize)$/

/**
 * Reads the pooling from the folder's sentence-transformers files; the mean if there is none.
 * @throws InferenceError unsupported for further layers
 */
export const readPooling = async (folder: string): Promise<Pooling> => {
  const modules = await readJson(join(folder, 'modules.json'))
  const types = Array.isArray(modules) ? modules.filter(isObject).map(({ type }) => String(type)) : []
  const unknown = types.find((type) => !KNOWN_MODULES.test(type))
  if (unknown !== undefined) {
    const message = `The model has a layer after its ONNX file that is not supported: ${unknown}.`
    throw new InferenceError('unsupported', message, { param: 'model' })
  }
  const config = await readObject(join(folder, '1_Pooling', 'config.json'))
  const flags = Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true)
  const chosen = [config.pooling_mode ?? flags]
    .flat()
    .map((mode) => (typeof mode === 'string' ? mode : JSON.stringify(mode)))
  const known = chosen.map((mode) => MODES.get(mode))
  if (chosen.length === 0) return 'mean'
  if (chosen.length === 1 && known[0] !== undefined) return known[0]
  throw new InferenceError('unsupported', `The model pools by ${chosen.join(' and ')}, which is not supported.`, {
    param: 'model',
  })
}

/** @param states a row of `width` numbers for each of the text's tokens */
export const pool = (states: Float32Array, width: number, pooling: Pooling): Float32Array => {
  const tokens = states.length / width
  const row = (token: number): Float32Array => states.subarray(token * width, (token + 1) * width)
  if (pooling === 'cls') return row(0).slice()
  if (pooling === 'last') return row(tokens - 1).slice()
  const pooled = row(0).slice()
  for (let token = 1; token < tokens; token += 1) {
    const one = row(token)
    for (let at = 0; at < width; at += 1) {
      pooled[at] = pooling === 'max' ? Math.max(pooled[at]!, one[at]!) : pooled[at]! + one[at]!
    }
  }
  // For the mean, the sum is enough: vectors are normalized afterward.
  return pooled
}
