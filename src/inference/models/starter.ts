import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { ModelFile } from './model-file.ts'

/** The bundled model. Its relative path is the same from src/inference/models and dist/inference/models. */
export const STARTER = 'starter'

const PATH = fileURLToPath(new URL('../../../models/starter.gguf', import.meta.url))

export const starterModel = async (): Promise<ModelFile> => {
  const file = await readFile(PATH)
  return {
    name: STARTER,
    variant: 'q4_0',
    path: PATH,
    format: 'gguf',
    bytes: file.length,
    sha256: createHash('sha256').update(file).digest('hex'),
    source: 'package',
  }
}
