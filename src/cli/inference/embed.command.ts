import type { Command } from 'commander'
import type { Engine } from '../../inference/engines/engine.ts'
import { FORMAT_WORDS } from '../../inference/models/model-file.ts'
import { Failure, wrongUsage } from '../failure.ts'
import type { Session } from '../session.ts'
import { engineOption } from './inference-options.ts'
import { outputOption, requireOutput, writeOutput } from './output-file.ts'

interface EmbedOptions {
  readonly engine: string
  readonly output?: string
}

const ADVICE =
  'Use a GGUF embedding model, or the folder of an ONNX one, such as a sentence-transformers model with onnx/model.onnx.'

const presented = (engine: Engine, vector: Float32Array, tokens: number) => ({
  model: engine.model.name,
  engine: engine.name,
  tokens,
  dimensions: vector.length,
  embedding: Array.from(vector),
})

const embed = async (session: Session, model: string, text: string, options: EmbedOptions): Promise<void> => {
  if (text === '') throw wrongUsage('The text is missing.', 'For example: svc embed <model> "What is a rollout?"')
  await requireOutput(session, options.output)
  const { chooseModelAndEngine, openChosen } = await import('./open-model.ts')
  const chosen = await chooseModelAndEngine(session, model, options.engine)
  const { format } = chosen.file
  if (format !== 'onnx' && format !== 'gguf' && format !== 'remote') {
    throw new Failure(`'${model}' is ${FORMAT_WORDS[format]}; embeddings need a GGUF or an ONNX model.`, {
      advice: ADVICE,
    })
  }
  const engine = await openChosen(session, chosen, { cacheMegabytes: 0, log: () => undefined })
  try {
    if (engine.embed === undefined)
      throw new Failure(`The model '${model}' does not compute embeddings.`, { advice: ADVICE })
    const { vectors, tokens } = await engine.embed([text], session.io.signal)
    const response = presented(engine, vectors[0]!, tokens)
    await writeOutput(session, JSON.stringify(response, null, options.output === undefined ? 2 : 0), options.output)
  } finally {
    await engine.close()
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '<model>',
      'a model on this machine or in the catalog (name@version), a path, hf:org/model, or ollama:name',
    )
    .argument('<text>', 'text to embed')
    .addOption(engineOption())
    .addOption(outputOption('a JSON file'))
    .action((model: string, text: string, options: EmbedOptions) => embed(session, model, text, options))
}
