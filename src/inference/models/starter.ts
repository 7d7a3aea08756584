import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { ModelFile } from './model-file.ts'

/** Always there: it comes with the package. From src/inference/models and from dist/inference/models the way is the same. */
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
