import { join } from 'node:path'
import { isObject } from '../../../domain/is-object.ts'
import { SAMPLE_RATE } from '../../audio/sound.ts'
import { InferenceError } from '../../errors.ts'
import type { Transcribed } from '../child/protocol.ts'
import { type Loading, loadFeatureExtractor, loadTokenizer, loadWeights } from './load.ts'
import { countIn, invalidModel, type JsonObject, readObject } from './model-json.ts'
import { createRun, preambleLength, type WhisperRun, type WhisperTokens } from './whisper-rules.ts'
import { segmentsOf } from './whisper-segments.ts'

/** Windows quieter than this (-60 dB) contain no speech, and Whisper would make something up. */
const SILENCE = 1e-3
/** How late the first word of a window may start, in steps of 0.02 s. */
const LATEST_FIRST_TIMESTAMP = 50
const USUAL_WINDOW_SECONDS = 30
const USUAL_POSITIONS = 448

const numbers = (value: unknown): readonly number[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'number') : []

const languagesIn = (config: JsonObject): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(isObject(config.lang_to_id) ? config.lang_to_id : {}).flatMap(([word, token]) =>
      typeof token === 'number' ? [[word.replace(/[<|>]/g, ''), token] as const] : [],
    ),
  )

const tokensIn = (config: JsonObject): WhisperTokens => {
  const end = numbers([config.eos_token_id].flat())[0]
  const start = config.decoder_start_token_id
  const noTimestamps = config.no_timestamps_token_id
  if (end === undefined || typeof start !== 'number' || typeof noTimestamps !== 'number') {
    throw invalidModel('generation_config.json lacks decoder_start_token_id, eos_token_id, or no_timestamps_token_id.')
  }
  const tasks = isObject(config.task_to_id) ? config.task_to_id : {}
  return {
    end,
    start,
    languages: config.is_multilingual === false ? new Map() : languagesIn(config),
    transcribe: typeof tasks.transcribe === 'number' ? tasks.transcribe : null,
    noTimestamps,
    firstTimestamp: noTimestamps + 1,
    suppressed: numbers(config.suppress_tokens),
    suppressedAtBegin: numbers(config.begin_suppress_tokens),
    latestFirstTimestamp: countIn(config, 'max_initial_timestamp_index') ?? LATEST_FIRST_TIMESTAMP,
  }
}

const assertKnown = ({ languages }: WhisperTokens, language: string | null): void => {
  if (language === null || languages.has(language) || (languages.size === 0 && language === 'en')) return
  const known = languages.size === 0 ? 'only English' : [...languages.keys()].sort().join(', ')
  const message = `The model does not know the language '${language}'. It knows ${known}.`
  throw new InferenceError('invalid_request', message, { param: 'language' })
}

export const openTranscriber = async (loading: Loading) => {
  const { transformers, model } = loading
  const tokens = tokensIn(await readObject(join(model.folder, 'generation_config.json')))
  const sound = await readObject(join(model.folder, 'preprocessor_config.json'))
  const windowSamples = countIn(sound, 'n_samples') ?? USUAL_WINDOW_SECONDS * SAMPLE_RATE
  const contextTokens = countIn(model.config, 'max_target_positions') ?? USUAL_POSITIONS
  if ((countIn(sound, 'sampling_rate') ?? SAMPLE_RATE) !== SAMPLE_RATE) {
    throw invalidModel(`The model expects audio at ${String(sound.sampling_rate)} Hz; only 16000 Hz is supported.`)
  }
  const tokenizer = await loadTokenizer(loading)
  const extract = await loadFeatureExtractor(loading)
  const network = await loadWeights(transformers.WhisperForConditionalGeneration, loading)
  const isWord = (token: number): boolean => token < tokens.firstTimestamp && token !== tokens.end

  /** Returns the tokens after the preamble, without the end. */
  const decode = async (features: unknown, run: WhisperRun, from: number, signal: AbortSignal): Promise<number[]> => {
    const sequence: number[] = []
    const rules = new transformers.LogitsProcessorList()
    rules.push((_sequences, logits) => {
      signal.throwIfAborted()
      run.limit(sequence, logits[0]!.data)
      return logits
    })
    await network.generate({
      inputs: features,
      decoder_input_ids: [tokens.start],
      // Half of the positions, as in OpenAI's program. Anything longer is a repetition.
      max_new_tokens: Math.floor(contextTokens / 2) + from - 1,
      return_timestamps: false,
      begin_suppress_tokens: null,
      do_sample: false,
      num_beams: 1,
      logits_processor: rules,
      // The library's Whisper model ignores stopping criteria, but not a streamer.
      streamer: {
        put: (rows: readonly (readonly bigint[])[]) => void sequence.push(...rows[0]!.map(Number)),
        end: () => undefined,
      },
    })
    const decoded = sequence.slice(from)
    return decoded.at(-1) === tokens.end ? decoded.slice(0, -1) : decoded
  }

  const textOf = (decoded: readonly number[]): string => {
    const words = decoded.filter(isWord)
    return words.length === 0 ? '' : tokenizer.decode(words, { skip_special_tokens: true })
  }

  return {
    windowSamples,
    contextTokens,
    /** @throws InferenceError invalid_request for a language that the model does not know */
    transcribe: async (window: Float32Array, language: string | null, signal: AbortSignal): Promise<Transcribed> => {
      assertKnown(tokens, language)
      const seconds = window.length / SAMPLE_RATE
      const nothing = { language: language ?? 'en', segments: [], nextStart: seconds }
      if (window.every((sample) => Math.abs(sample) < SILENCE)) return nothing
      const { input_features: features } = await extract(window)
      const timed = createRun(tokens, language, true)
      const decoded = await decode(features, timed, preambleLength(tokens, true), signal)
      if (timed.knowsTimestamps) {
        const { segments, nextStart } = segmentsOf(tokens, decoded, seconds)
        const texts = segments.map(({ start, end, tokens: all }) => ({ start, end, text: textOf(all) }))
        return { language: timed.language, segments: texts, nextStart }
      }
      const plain = createRun(tokens, timed.language, false)
      const words = textOf(await decode(features, plain, preambleLength(tokens, false), signal))
      const segments = words.trim() === '' ? [] : [{ start: 0, end: seconds, text: words }]
      return { language: timed.language, segments, nextStart: seconds }
    },
  }
}
