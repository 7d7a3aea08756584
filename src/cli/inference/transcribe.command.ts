import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { ownEntry } from '../../domain/own-entry.ts'
import { TRANSCRIPT_FORMATS, type TranscriptFormat } from '../../inference/api/transcript-formats.ts'
import { MAX_FILE_BYTES } from '../../inference/api/transcription-form.ts'
import { SAMPLE_RATE } from '../../inference/audio/sound.ts'
import type { Transcription } from '../../inference/engines/engine.ts'
import { InferenceError } from '../../inference/errors.ts'
import { FORMAT_WORDS } from '../../inference/models/model-file.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { isSameFile } from '../result-files.ts'
import type { Session } from '../session.ts'
import { type ChosenModel, chooseModelAndEngine, openChosen } from './open-model.ts'
import { outputOption, requireOutput, writeOutput } from './output-file.ts'

interface TranscribeOptions {
  readonly model: string
  readonly language: string | null
  readonly output?: string
}

const ADVICE =
  'Get the default model with: svc add whisper-base hf:onnx-community/whisper-base\n' +
  'Or name the folder of an ONNX Whisper model with --model: config.json, generation_config.json, preprocessor_config.json, ' +
  'and tokenizer.json, and, under onnx/, encoder_model.onnx and decoder_model_merged.onnx, as onnx-community/whisper-base has them.'

/** The transcript format by file extension; all other files get plain text. */
const FORMAT_OF_ENDING: Readonly<Record<string, TranscriptFormat>> = {
  '.json': 'verbose_json',
  '.srt': 'srt',
  '.vtt': 'vtt',
}

const parseLanguage = (text: string): string | null => {
  if (text === 'auto') return null
  if (/^[a-z]{2,3}$/i.test(text)) return text.toLowerCase()
  throw new InvalidArgumentError("It must be 'auto' or a code such as en or de.")
}

const choose = async (session: Session, model: string): Promise<ChosenModel> => {
  const chosen = await chooseModelAndEngine(session, model, 'auto').catch((error: unknown) => {
    const isMissing = error instanceof InferenceError && error.code === 'model_not_found'
    throw isMissing ? new Failure(error.message, { advice: ADVICE, cause: error }) : error
  })
  const { format } = chosen.file
  if (format === 'onnx') return chosen
  throw new Failure(`'${model}' is ${FORMAT_WORDS[format]}, which cannot transcribe speech.`, { advice: ADVICE })
}

const present = (transcription: Transcription, samples: number, output: string | undefined): string => {
  const format = ownEntry(FORMAT_OF_ENDING, extname(output ?? '').toLowerCase()) ?? 'text'
  return TRANSCRIPT_FORMATS[format](transcription, samples / SAMPLE_RATE).body.trimEnd()
}

/** Refuses what exceeds the server's limit, so that a large recording, or a pipe without end, does not fill the memory. */
const read = async (path: string, signal: AbortSignal): Promise<Buffer> => {
  const tooLarge = (megabytes: string): Failure =>
    new Failure(`${path} is ${megabytes} MB; at most ${MAX_FILE_BYTES / 1024 / 1024} MB can be read.`, {
      advice: 'Split the recording, or convert it to MP3.',
    })
  const { size } = await stat(path)
  if (size > MAX_FILE_BYTES) throw tooLarge(`${Math.ceil(size / 1024 / 1024)}`)
  const pieces: Buffer[] = []
  let length = 0
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1 << 20, signal })) {
      length += (piece as Buffer).length
      if (length > MAX_FILE_BYTES) throw tooLarge(`more than ${MAX_FILE_BYTES / 1024 / 1024}`)
      pieces.push(piece as Buffer)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof Failure ? error : Object.assign(error as NodeJS.ErrnoException, { path })
  }
  return Buffer.concat(pieces)
}

const namingFile = (file: string) => (error: unknown) => {
  throw error instanceof InferenceError ? new Failure(`${file}: ${error.message}`, { cause: error }) : error
}

const transcribe = async (session: Session, file: string, options: TranscribeOptions): Promise<void> => {
  const { io } = session
  const path = resolve(io.cwd, file)
  if (options.output !== undefined && (await isSameFile(resolve(io.cwd, options.output), path)))
    throw wrongUsage(`The transcript would replace ${file}.`, 'Choose another file with --output.')
  await requireOutput(session, options.output)
  const bytes = await read(path, io.signal)
  const chosen = await choose(session, options.model)
  const { decodeAudio } = await import('../../inference/audio/decode.ts')
  const samples = await decodeAudio(bytes, { env: io.env, signal: io.signal }).catch(namingFile(file))
  const engine = await openChosen(session, chosen, { cacheMegabytes: 0, log: () => undefined })
  try {
    if (engine.transcribe === undefined) {
      throw new Failure(`The model '${options.model}' does not transcribe.`, { advice: ADVICE })
    }
    const transcription = await engine.transcribe(samples, options.language, io.signal)
    await writeOutput(session, present(transcription, samples.length, options.output), options.output)
  } finally {
    await engine.close()
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<file>', 'audio file: WAV, MP3, and others if ffmpeg is installed')
    .option('-m, --model <model>', 'a Whisper model: its name, name:variant, a path, or hf:org/model', 'whisper-base')
    .addOption(
      new Option('--language <code>', 'spoken language, such as en')
        .argParser(parseLanguage)
        .default(null, 'auto, detected by the model'),
    )
    .addOption(outputOption('output file: text, or .json, .srt, or .vtt with timestamps'))
    .action((file: string, options: TranscribeOptions) => transcribe(session, file, options))
}
