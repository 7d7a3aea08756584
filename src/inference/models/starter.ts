import { stat } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { ModelFile } from './model-file.ts'

/** Always there: it comes with the package. From src/inference/models and from dist/inference/models the way is the same. */
export const STARTER = 'starter'

const PATH = fileURLToPath(new URL('../../../models/starter.gguf', import.meta.url))

export const starterModel = async (): Promise<ModelFile> => ({
  name: STARTER,
  variant: 'q4_0',
  path: PATH,
  format: 'gguf',
  bytes: (await stat(PATH)).size,
  sha256: null,
  source: 'package',
})
