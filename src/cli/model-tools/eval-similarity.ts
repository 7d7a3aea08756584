import { cosine } from '../../convert/evaluate/paired.ts'
import { agreement } from '../../inference/runtime/routing/agreement.ts'
import { Failure } from '../failure.ts'
import type { ModelServer } from './model-server.ts'

/** How similarity is measured; all output names the method. */
export interface Similarity {
  readonly method: 'embedding cosine' | 'token F1'
  readonly model: string | null
  /** Returns the error message if the server computes no embedding of one of the texts, for example because it is too long. */
  of(output: string, expected: string): Promise<number | { readonly refused: string }>
}

export const requireModel = ({ models, url }: ModelServer, name: string): void => {
  if (models.includes(name)) return
  throw new Failure(`The server at ${url} has no model '${name}'. It has: ${models.join(', ') || 'none'}.`)
}

const EMBEDDERS = /embed|bert|minilm|bge|gte|e5/i

/** Uses the given embedding model, or the first that is named like one and responds. */
export const similarityOf = async (server: ModelServer, named: string | undefined): Promise<Similarity> => {
  if (named !== undefined) requireModel(server, named)
  for (const model of named === undefined ? server.models.filter((name) => EMBEDDERS.test(name)) : [named]) {
    const probe = await server.embed(model, ['a'])
    if ('refused' in probe) {
      if (named === undefined) continue
      throw new Failure(`The model '${named}' computes no embeddings: ${probe.refused}.`)
    }
    return {
      method: 'embedding cosine',
      model,
      async of(output, expected) {
        const embedded = await server.embed(model, [output, expected])
        return 'refused' in embedded ? embedded : cosine(embedded.vectors[0]!, embedded.vectors[1]!)
      },
    }
  }
  return { method: 'token F1', model: null, of: async (output, expected) => agreement(output, expected) }
}
