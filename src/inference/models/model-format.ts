import { open, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../domain/is-object.ts'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { InferenceError } from '../errors.ts'
import type { ModelFormat } from './model-file.ts'

export interface FoundFormat {
  readonly format: ModelFormat
  /** The path that an engine opens: a GGUF file inside a folder rather than the folder. */
  readonly path: string
}

const notAModel = (path: string, fault: string): InferenceError =>
  new InferenceError(
    'invalid_model',
    `${path} is not a model: ${fault}. Models are GGUF files and ONNX, MLX, MLC, or MNN folders.`,
    { param: 'model' },
  )

const beginsWith = async (path: string, magic: string): Promise<boolean> => {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0)
    return bytesRead === magic.length && buffer.toString('latin1') === magic
  } finally {
    await file.close()
  }
}

/** True for later parts of a model in several files, which is opened by its first part. */
const isLaterPart = (name: string): boolean => /-(?!00001)\d{5}-of-\d{5}\.gguf$/i.test(name)

const hasKey = async (path: string, key: string): Promise<boolean> => {
  const value = jsonOrNull(await readFile(path, 'utf8').catch(() => ''))
  return isObject(value) && key in value
}

const formatOfFolder = async (folder: string): Promise<FoundFormat> => {
  const names = await readdir(folder)
  const endsWith = (ending: string): readonly string[] => names.filter((name) => name.toLowerCase().endsWith(ending))
  const whole = (format: ModelFormat): FoundFormat => ({ format, path: folder })
  if (names.includes('mlc-chat-config.json')) return whole('mlc')
  if (endsWith('.mnn').length > 0 || (await hasKey(join(folder, 'config.json'), 'llm_model'))) return whole('mnn')
  if (endsWith('.onnx').length > 0) return whole('onnx')
  if (names.includes('onnx') && (await readdir(join(folder, 'onnx')).catch(() => [])).some((n) => n.endsWith('.onnx')))
    return whole('onnx')
  const [first, second] = endsWith('.gguf').filter((name) => !isLaterPart(name))
  if (second !== undefined)
    throw notAModel(folder, `it contains several (${first}, ${second}, ...): give the path of one of them`)
  if (first !== undefined) return { format: 'gguf', path: join(folder, first) }
  if (endsWith('.safetensors').length > 0) {
    if (names.includes('config.json')) return whole('mlx')
    throw notAModel(folder, 'there is no config.json next to its safetensors')
  }
  throw notAModel(folder, names.length === 0 ? 'the folder is empty' : 'it contains no known file')
}

/**
 * Detects the kind of model at a path by its content and file names, without running anything.
 * @throws InferenceError invalid_model if it is not a model; the file system's error if it cannot be read
 */
export const formatOf = async (path: string): Promise<FoundFormat> => {
  const found = await stat(path)
  if (found.isDirectory()) return formatOfFolder(path)
  // Opening a pipe waits for a writer, and nothing can end that wait.
  if (!found.isFile()) throw notAModel(path, 'it is neither a regular file nor a folder')
  // The engine refuses a broken file of that name with a precise error.
  if ((await beginsWith(path, 'GGUF')) || path.toLowerCase().endsWith('.gguf')) return { format: 'gguf', path }
  if (path.toLowerCase().endsWith('.onnx')) return { format: 'onnx', path }
  throw notAModel(path, 'it does not begin with GGUF, and its name does not end in .onnx')
}
