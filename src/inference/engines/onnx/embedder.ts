import { join } from 'node:path'
import { InferenceError } from '../../errors.ts'
import type { Embeddings } from '../engine.ts'
import { unitVector } from '../unit-vector.ts'
import { type Loading, loadTokenizer, loadWeights } from './load.ts'
import { countIn, invalidModel, readObject } from './model-json.ts'
import { pool, readPooling } from './pooling.ts'
import type { Tensor } from './transformers.ts'

/** Used if the model does not define a maximum text length. */
const USUAL_TOKENS = 512

/** Models such as RoBERTa, which number positions after their padding token, have two fewer positions than configured. */
const positionsOf = (config: Readonly<Record<string, unknown>>): number => {
  const positions = countIn(config, 'max_position_embeddings') ?? USUAL_TOKENS
  return /roberta|camembert|mpnet/.test(String(config.model_type)) ? positions - 2 : positions
}

const numbersOf = (name: string, tensor: Tensor): Float32Array => {
  if (/^float(16|32|64)$/.test(tensor.type)) return tensor.to('float32').data as Float32Array
  throw invalidModel(`The model's output ${name} is ${tensor.type}; it must be float16, float32, or float64.`)
}

export const openEmbedder = async (loading: Loading) => {
  const { transformers, model } = loading
  const tokenizer = await loadTokenizer(loading)
  const network = await loadWeights(transformers.AutoModel, loading)
  // Graphs with this output contain the modules of sentence-transformers.
  const isWhole = Object.values(network.sessions).some(({ outputNames }) => outputNames.includes('sentence_embedding'))
  const pooling = isWhole ? null : await readPooling(model.folder)
  const limits = [
    positionsOf(model.config),
    countIn(await readObject(join(model.folder, 'sentence_bert_config.json')), 'max_seq_length'),
    tokenizer.model_max_length,
  ]
  const contextTokens = Math.min(...limits.filter((limit) => typeof limit === 'number'))

  const vectorOf = (outputs: Readonly<Record<string, Tensor | undefined>>): Float32Array => {
    if (pooling === null) return unitVector(numbersOf('sentence_embedding', outputs.sentence_embedding!))
    const states = outputs.last_hidden_state ?? outputs.token_embeddings
    if (states === undefined)
      throw invalidModel(`The model outputs ${Object.keys(outputs).join(', ')}, but no embeddings.`)
    return unitVector(pool(numbersOf('last_hidden_state', states), states.dims.at(-1)!, pooling))
  }

  return {
    contextTokens,
    /** @throws InferenceError context_length_exceeded: truncated texts would get misleading vectors */
    embed: async (inputs: readonly string[], signal: AbortSignal): Promise<Embeddings> => {
      const counts: number[] = []
      // Nothing after the first text that is too long is tokenized.
      const encoded = inputs.map((text, index) => {
        const tokens = tokenizer(text)
        const count = tokens.input_ids.data.length
        if (count > contextTokens) {
          throw new InferenceError(
            'context_length_exceeded',
            `${inputs.length === 1 ? 'The text' : `input[${index}]`} has ${count} tokens; the model takes ${contextTokens}. Shorten it.`,
            { param: 'input' },
          )
        }
        counts.push(count)
        return tokens
      })
      const vectors: Float32Array[] = []
      // One at a time: in a batch, quantized models give a text a different vector.
      for (const inputs of encoded) {
        signal.throwIfAborted()
        vectors.push(vectorOf(await network(inputs)))
      }
      return { vectors, tokens: counts.reduce((sum, count) => sum + count, 0) }
    },
  }
}
