import { InferenceError } from '../../errors.ts'
import type { EngineRequest, EngineResponse } from '../child/protocol.ts'
import { openChatModel } from './chat-model.ts'
import { openEmbedder } from './embedder.ts'
import { readModelFolder } from './model-folder.ts'
import type { ModelFacts, ModelKind, Settings } from './settings.ts'
import { loadTransformers } from './transformers.ts'
import { openTranscriber } from './whisper.ts'

/** A loaded model that serves requests. */
export interface Runner {
  readonly facts: ModelFacts
  /** @throws InferenceError */
  work(requested: EngineRequest, signal: AbortSignal, say: (response: EngineResponse) => void): Promise<void>
}

type Work = Runner['work']

const cannot = (kind: ModelKind, requested: EngineRequest): InferenceError =>
  new InferenceError('unsupported', `A model for ${kind} was asked to ${requested.type}.`, { param: 'model' })

/** @throws InferenceError invalid_model, unsupported, engine_missing */
export const openRunner = async (settings: Settings): Promise<Runner> => {
  const model = await readModelFolder(settings.path)
  const before = process.memoryUsage.rss()
  const loading = { transformers: await loadTransformers(settings.modulePath), model, settings }
  const { kind } = model
  const ready = (contextTokens: number, windowSamples: number, work: Work): Runner => {
    // The memory growth during loading, but at least the size of its files, which may not all have been read yet.
    const memoryBytes = Math.max(model.files.bytes, process.memoryUsage.rss() - before)
    return { facts: { kind, contextTokens, windowSamples, memoryBytes }, work }
  }
  if (kind === 'embeddings') {
    const { contextTokens, embed } = await openEmbedder(loading)
    return ready(contextTokens, 0, async (requested, signal, say) => {
      if (requested.type !== 'embed') throw cannot(kind, requested)
      say({ type: 'embedded', embeddings: await embed(requested.inputs, signal) })
    })
  }
  if (kind === 'speech') {
    const { contextTokens, windowSamples, transcribe } = await openTranscriber(loading)
    return ready(contextTokens, windowSamples, async (requested, signal, say) => {
      if (requested.type !== 'transcribe') throw cannot(kind, requested)
      say({ type: 'transcribed', transcribed: await transcribe(requested.window, requested.language, signal) })
    })
  }
  const { contextTokens, countTokens, chat } = await openChatModel(loading)
  return ready(contextTokens, 0, async (requested, signal, say) => {
    if (requested.type === 'count') say({ type: 'counted', tokens: countTokens(requested.messages) })
    else if (requested.type === 'chat') await chat(requested.request, signal, say)
    else throw cannot(kind, requested)
  })
}
