import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../domain/is-object.ts'
import { exists } from '../../platform/files/missing-file.ts'
import { bytesUnder } from './copy-model.ts'
import type { ModelFile } from './model-file.ts'
import { formatOf } from './model-format.ts'

/** The content of model.json, which is stored next to a model's files. */
export interface ModelEntry {
  readonly name: string
  readonly variant: string
  /** The file or folder, relative to model.json. */
  readonly file: string
  readonly bytes: number
  readonly sha256: string
  readonly source: string
  readonly addedAt: string
}

export const entryText = ({ name, variant, file, bytes, sha256, source, addedAt }: ModelEntry): string =>
  `${JSON.stringify({ name, variant, file, size: bytes, sha256, source, added_at: addedAt }, null, 2)}\n`

/** @throws Error with the fault, to be shown next to the model's name */
const parseEntry = (text: string): ModelEntry => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error('model.json is not JSON')
  }
  const fields = isObject(value) ? value : {}
  const textOf = (key: string): string => {
    const found = fields[key]
    if (typeof found === 'string' && found !== '') return found
    throw new Error(`${key} is missing in model.json`)
  }
  const bytes = fields.size
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0)
    throw new Error('size is missing in model.json')
  const file = textOf('file')
  if (!/^(?!\.)[^/\\:]+$/.test(file)) throw new Error('file in model.json is not in its folder')
  return {
    name: textOf('name'),
    variant: textOf('variant'),
    file,
    bytes,
    sha256: textOf('sha256'),
    source: textOf('source'),
    addedAt: textOf('added_at'),
  }
}

/**
 * Reads the model in a folder with a model.json. Compares the size, but not the hash, which would require reading all files.
 * @throws Error with the fault of a damaged entry
 */
export const readEntry = async (folder: string): Promise<ModelFile & { readonly addedAt: string }> => {
  const text = await readFile(join(folder, 'model.json'), 'utf8').catch(() => {
    throw new Error('model.json is missing')
  })
  const { name, variant, file, bytes, sha256, source, addedAt } = parseEntry(text)
  const path = join(folder, file)
  if (!(await exists(path))) throw new Error(`${file} is missing`)
  const found = await bytesUnder(path)
  if (found !== bytes) throw new Error(`${file} has ${found} bytes instead of ${bytes}`)
  return { name: `${name}:${variant}`, variant, ...(await formatOf(path)), bytes, sha256, source, addedAt }
}
