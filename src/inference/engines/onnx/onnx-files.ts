import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { invalidModel } from './model-json.ts'

/** The .onnx files of a folder to load, in the options of transformers.js. */
export interface OnnxFiles {
  /** Their location: `onnx`, or '' for the model's folder itself. */
  readonly subfolder: string
  /** The name of the first file, without its precision. */
  readonly fileName: string
  /** The precision of each file, by name. */
  readonly dtype: Readonly<Record<string, string>>
  readonly bytes: number
}

/** File name endings and transformers.js's names for them. The first that exists is used, because it lost least. */
export const PRECISIONS: readonly (readonly [ending: string, dtype: string])[] = [
  ['', 'fp32'],
  ['_fp16', 'fp16'],
  ['_quantized', 'q8'],
  ['_int8', 'int8'],
  ['_uint8', 'uint8'],
  ['_q4', 'q4'],
  ['_q4f16', 'q4f16'],
  ['_bnb4', 'bnb4'],
]

const sizesIn = async (folder: string): Promise<ReadonlyMap<string, number>> => {
  const names = await readdir(folder).catch(() => [])
  return new Map(await Promise.all(names.map(async (name) => [name, (await stat(join(folder, name))).size] as const)))
}

/** Parses a file name: `model_q4.onnx` is `model` in the precision q4. */
const named = (file: string): { readonly stem: string; readonly precisions: typeof PRECISIONS } => {
  const name = basename(file, '.onnx')
  const precision = PRECISIONS.findLast(([ending]) => ending !== '' && name.endsWith(ending)) ?? PRECISIONS[0]!
  return { stem: name.slice(0, name.length - precision[0].length), precisions: [precision] }
}

/**
 * @param file the requested file; null for those that exist
 * @param stems the names of the model's files
 * @throws InferenceError invalid_model if one is missing
 */
export const findOnnxFiles = async (
  folder: string,
  file: string | null,
  stems: readonly string[],
): Promise<OnnxFiles> => {
  const inOnnx = file === null ? (await sizesIn(join(folder, 'onnx'))).size > 0 : dirname(file) !== folder
  const place = inOnnx ? join(folder, 'onnx') : folder
  const sizes = await sizesIn(place)
  const requested =
    file !== null && stems.length === 1 ? [named(file)] : stems.map((stem) => ({ stem, precisions: PRECISIONS }))
  const dtype: Record<string, string> = {}
  let bytes = 0
  for (const { stem, precisions } of requested) {
    const found = precisions.find(([ending]) => sizes.has(`${stem}${ending}.onnx`))
    if (found === undefined) throw invalidModel(`There is no ${stem}.onnx in ${place}.`)
    dtype[stem] = found[1]
    const main = `${stem}${found[0]}.onnx`
    // Weights of more than two gigabytes are in files next to it.
    for (const [name, size] of sizes) if (name === main || name.startsWith(`${main}_data`)) bytes += size
  }
  return { subfolder: inOnnx ? 'onnx' : '', fileName: requested[0]!.stem, dtype, bytes }
}
