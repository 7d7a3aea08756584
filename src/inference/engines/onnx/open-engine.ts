import { askOnce, converse } from '../child/ask.ts'
import { type Supervisor, superviseProcess } from '../child/supervisor.ts'
import type { Engine } from '../engine.ts'
import { type ModelFacts, type OnnxOptions, type Settings, settingsOf } from './settings.ts'
import { transcribe } from './transcribe.ts'

export type { OnnxOptions } from './settings.ts'

type Abilities = Pick<Engine, 'chat' | 'countTokens' | 'embed' | 'transcribe'>

const abilitiesOf = (supervisor: Supervisor<ModelFacts>): Abilities => {
  const { kind, windowSamples } = supervisor.facts
  if (kind === 'embeddings') {
    return {
      embed: async (inputs, signal) =>
        (await askOnce(supervisor, { type: 'embed', inputs }, 'embedded', signal)).embeddings,
    }
  }
  if (kind === 'speech') {
    return {
      transcribe: (samples, language, signal) => transcribe(supervisor, samples, windowSamples, language, signal),
    }
  }
  return {
    chat: (request, signal) => converse(supervisor, request, signal),
    countTokens: async (messages) => (await askOnce(supervisor, { type: 'count', messages }, 'counted')).tokens,
  }
}

/**
 * An ONNX model in a process of its own, which is replaced when it dies: embeddings, Whisper, or a language model.
 * @throws InferenceError engine_missing, invalid_model, unsupported
 */
export const openOnnxEngine = async (options: OnnxOptions): Promise<Engine> => {
  const supervisor = await superviseProcess<Settings, ModelFacts>({
    entry: { importMetaUrl: import.meta.url, file: 'engine.process' },
    settings: await settingsOf(options),
    name: options.name,
    serialization: 'advanced',
    log: options.log,
  })
  const { contextTokens, memoryBytes } = supervisor.facts
  return {
    name: 'onnxruntime',
    // The container does not say how many parameters there are.
    model: { name: options.name, path: options.path, parameters: null, contextTokens, memoryBytes },
    slots: 1,
    ...abilitiesOf(supervisor),
    figures: () => supervisor.figures,
    close: supervisor.close,
  }
}
