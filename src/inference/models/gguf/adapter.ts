import { openSync } from 'node:fs'
import { InferenceError } from '../../errors.ts'
import { readContainer } from './container.ts'
import { metadataOf } from './dimensions.ts'
import { type GgufHeader, reading } from './header.ts'
import type { HeaderReader } from './header-reader.ts'
import { invalidModel, quoted } from './invalid-model.ts'

const openAdapter = (path: string): number => {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new InferenceError('model_not_found', `There is no LoRA adapter at '${path}'.`, { cause })
  }
}

/**
 * Checks a LoRA adapter in a GGUF file against its model before llama.cpp reads it. Each pair of matrices, a (inputs x rank)
 * and b (rank x outputs), must fit a weight of the model.
 * @throws InferenceError invalid_model that names the file and the mismatch; model_not_found
 */
export const checkAdapter = (path: string, model: Pick<GgufHeader, 'architecture' | 'tensors' | 'path'>): void =>
  reading(path, (reader) => check(reader, model), openAdapter)

const check = (reader: HeaderReader, model: Parameters<typeof checkAdapter>[1]): void => {
  const { path } = reader
  const container = readContainer(reader)
  const metadata = metadataOf(path, container)
  if (metadata.text('general.type') !== 'adapter' || metadata.text('adapter.type') !== 'lora')
    throw invalidModel(path, 'is not a LoRA adapter in the GGUF format. svc convert makes one from Hugging Face files.')
  const architecture = metadata.text('general.architecture') ?? ''
  if (architecture !== model.architecture)
    throw invalidModel(
      path,
      `is for the architecture ${quoted(architecture)}, but the model has '${model.architecture}'.`,
    )
  const shapes = new Map(container.tensors.map(({ name, shape }) => [name, shape]))
  const weights = new Map(model.tensors.map(({ name, shape }) => [name, shape]))
  for (const [name, a] of shapes) {
    const weight = /^(.+)\.lora_a$/.exec(name)?.[1]
    if (weight === undefined) continue
    const [inputs, outputs] = weights.get(weight) ?? []
    const b = shapes.get(`${weight}.lora_b`)
    const fits = a[0] === inputs && a[1] === b?.[0] && b?.[1] === outputs
    // For embeddings, a and b are swapped.
    const turned = a[0] === b?.[0] && a[1] === outputs && b?.[1] === inputs
    if (!fits && !(weight === 'token_embd.weight' && turned))
      throw invalidModel(
        path,
        `does not fit '${model.path}': ${quoted(weight)} has a different shape there, or is missing.`,
      )
  }
}
