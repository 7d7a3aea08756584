import { SAMPLE_RATE } from '../../audio/sound.ts'
import { askChat, askOnce } from '../child/ask.ts'
import { type Supervisor, superviseProcess } from '../child/supervisor.ts'
import type { Engine, Transcription } from '../engine.ts'
import { type ModelFacts, type OnnxOptions, type Settings, settingsOf } from './settings.ts'

/** A segment that ends earlier than this does not set the start of the next window, which could otherwise loop forever. */
const MIN_STEP = 0.1

const rounded = (seconds: number): number => Math.round(seconds * 100) / 100

/** Transcribes a recording window by window, so that it can be aborted. */
const transcribe = async (
  supervisor: Pick<Supervisor<unknown>, 'ask'>,
  samples: Float32Array,
  windowSamples: number,
  requested: string | null,
  signal: AbortSignal,
): Promise<Transcription> => {
  const segments: Transcription['segments'][number][] = []
  let text = ''
  let language = requested
  for (let at = 0; at < samples.length; ) {
    const window = samples.slice(at, at + windowSamples)
    const { transcribed } = await askOnce(supervisor, { type: 'transcribe', window, language }, 'transcribed', signal)
    const offset = at / SAMPLE_RATE
    for (const segment of transcribed.segments) {
      text += segment.text
      const start = rounded(offset + segment.start)
      segments.push({ start, end: rounded(offset + segment.end), text: segment.text.trim() })
    }
    // The first window with speech determines the language.
    if (transcribed.segments.length > 0) language ??= transcribed.language
    const isLast = at + windowSamples >= samples.length && transcribed.nextStart >= window.length / SAMPLE_RATE
    if (isLast) break
    const step = transcribed.nextStart < MIN_STEP ? window.length : Math.round(transcribed.nextStart * SAMPLE_RATE)
    at += step
  }
  return { text: text.trim(), language: language ?? 'en', segments }
}

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
    chat: (request, signal) => askChat(supervisor, request, signal),
    countTokens: async (messages) => (await askOnce(supervisor, { type: 'count', messages }, 'counted')).tokens,
  }
}

/**
 * Opens an ONNX model in a separate process, which is replaced when it dies: embeddings, Whisper, or a language model.
 * @throws InferenceError engine_missing, invalid_model, unsupported
 */
export const openOnnxEngine = async (options: OnnxOptions): Promise<Engine> => {
  const supervisor = await superviseProcess<Settings, ModelFacts>({
    program: { entry: { importMetaUrl: import.meta.url, file: 'engine.process' }, serialization: 'advanced' },
    settings: await settingsOf(options),
    name: options.name,
    log: options.log,
  })
  const { contextTokens, memoryBytes } = supervisor.facts
  return {
    name: 'onnxruntime',
    // The container does not contain the number of parameters.
    model: { name: options.name, path: options.path, parameters: null, contextTokens, memoryBytes },
    slots: 1,
    ...abilitiesOf(supervisor),
    figures: () => supervisor.figures,
    close: supervisor.close,
  }
}
