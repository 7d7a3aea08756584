import { InferenceError } from '../../errors.ts'
import type { GgufHeader } from '../../models/gguf/header.ts'
import type { Embeddings } from '../engine.ts'
import { openEmbeddingContext } from './binding/embedding-context.ts'
import { loadAddon } from './binding/load-addon.ts'
import { loadModel } from './binding/load-model.ts'
import type { ModelFacts, Settings } from './settings.ts'

/** A loaded embedding model. */
export interface Embedder {
  readonly facts: ModelFacts
  /** One request at a time. @throws InferenceError context_length_exceeded: truncated texts would get misleading vectors */
  embed(inputs: readonly string[], isCanceled: () => boolean): Promise<Embeddings>
}

/** Requests queue in the process that computes. */
const USUAL_SLOTS = 4

export const openEmbedder = async (settings: Settings, header: GgufHeader): Promise<Embedder> => {
  const model = await loadModel(settings.path, await loadAddon(settings.gpuModule), { header, adapters: settings.lora })
  const context = await openEmbeddingContext(model, settings)
  const { contextTokens } = context

  const compute = async (inputs: readonly string[], isCanceled: () => boolean): Promise<Embeddings> => {
    // Nothing after the first text that is too long is tokenized.
    const texts = inputs.map((text, index) => {
      const tokens = context.tokenize(text)
      if (tokens.length <= contextTokens) return tokens
      throw new InferenceError(
        'context_length_exceeded',
        `${inputs.length === 1 ? 'The text' : `input[${index}]`} has ${tokens.length} tokens; the model takes ${contextTokens}. Shorten it.`,
        { param: 'input' },
      )
    })
    const vectors: Float32Array[] = []
    for (const tokens of texts) {
      if (isCanceled()) break
      vectors.push(await context.embed(tokens))
    }
    return { vectors, tokens: texts.reduce((sum, { length }) => sum + length, 0) }
  }

  let last: Promise<unknown> = Promise.resolve()
  return {
    facts: {
      parameters: model.parameters,
      contextTokens,
      slots: settings.slots ?? USUAL_SLOTS,
      memoryBytes: model.weightBytes + context.memoryBytes,
      toolSyntax: null,
    },
    embed: (inputs, isCanceled) => {
      const embedded = last.then(() => compute(inputs, isCanceled))
      last = embedded.catch(() => undefined)
      return embedded
    },
  }
}
