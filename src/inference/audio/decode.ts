import { startThread } from '../../platform/threads/start-thread.ts'
import { type Environment, findProgram } from '../find-program.ts'
import { recognize } from './container.ts'
import type { DecodeRequest, DecodeResult } from './decode.worker.ts'
import { decodeWithFfmpeg } from './ffmpeg.ts'
import { invalidAudio } from './sound.ts'

const inThread = (request: DecodeRequest, signal: AbortSignal): Promise<Float32Array> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const thread = startThread(import.meta.url, 'decode.worker', { workerData: request })
    const stop = (): void => {
      reject(signal.reason)
      void thread.terminate()
    }
    signal.addEventListener('abort', stop, { once: true })
    thread.once('message', (answer: DecodeResult) =>
      'samples' in answer ? resolve(answer.samples) : reject(invalidAudio(answer.fault)),
    )
    thread.once('error', reject)
    thread.once('exit', (code) => {
      signal.removeEventListener('abort', stop)
      reject(new Error(`The thread that decodes sound ended with code ${code}.`))
    })
  })

export interface DecodeOptions {
  /** Its PATH is searched for ffmpeg. */
  readonly env?: Environment
  readonly signal?: AbortSignal
}

/**
 * Decodes a recording to mono samples at 16 kHz in -1..1: WAV and MP3 directly, other formats with ffmpeg if it is installed.
 * @throws InferenceError invalid_request for a file that is damaged, too long, or not a recording
 */
export const decodeAudio = async (bytes: Uint8Array, options: DecodeOptions = {}): Promise<Float32Array> => {
  const { env = process.env, signal = new AbortController().signal } = options
  if (bytes.length === 0) throw invalidAudio('The recording is empty.')
  const own = recognize(bytes)
  if (own !== null) return inThread({ format: own.format, bytes: own.content }, signal)
  const program = await findProgram('ffmpeg', env)
  if (program !== null) return decodeWithFfmpeg(program, bytes, signal)
  throw invalidAudio(
    'Unsupported audio format: expected WAV or MP3. Other formats, such as FLAC, need ffmpeg: install it, or convert the file.',
  )
}
