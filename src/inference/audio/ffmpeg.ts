import { spawn } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { anySignal } from '../../domain/any-signal.ts'
import { makeTemporaryFolder } from '../../platform/files/temporary-folder.ts'
import { invalidAudio, MAX_SECONDS, SAMPLE_RATE, tooLong } from './sound.ts'

/** Audio containers. Playlists are excluded because they could name any file or address. */
const FORMATS = 'aac,ac3,aiff,amr,ape,asf,au,avi,caf,flac,flv,matroska,webm,mov,mp3,mpeg,mpegts,ogg,wav,wv'
const TIMEOUT_MS = 10 * 60 * 1000
const KEPT = 500

/** What ffmpeg reported, on one line, without our temporary file and the addresses of its own objects. */
const wordsOf = (report: string, file: string): string =>
  report
    .replaceAll(/\[[^\]\n]* @ 0x[\da-f]+\] /g, '')
    .replaceAll(`${file}: `, '')
    .replaceAll(file, 'it')
    .trim()
    .replaceAll(/\s*\n\s*/g, '; ')

const runFfmpeg = (program: string, file: string, signal: AbortSignal): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const limits = ['-protocol_whitelist', 'file', '-format_whitelist', FORMATS]
    const output = `-vn -t ${MAX_SECONDS + 1} -ac 1 -ar ${SAMPLE_RATE} -f f32le pipe:1`.split(' ')
    const ending = anySignal(signal, AbortSignal.timeout(TIMEOUT_MS))
    const child = spawn(program, ['-v', 'error', '-nostdin', ...limits, '-i', file, ...output], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: ending,
      killSignal: 'SIGKILL',
    })
    const pieces: Buffer[] = []
    let words = ''
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece))
    child.stderr.on('data', (piece: Buffer) => {
      words = (words + piece.toString()).slice(-KEPT)
    })
    child.once('error', (error) => {
      const aborted = signal.aborted ? (signal.reason as Error) : null
      reject(
        aborted ?? (ending.aborted ? invalidAudio('ffmpeg did not decode the recording within ten minutes.') : error),
      )
    })
    child.once('close', (code) => {
      if (code === 0) return resolve(Buffer.concat(pieces))
      reject(invalidAudio(`ffmpeg cannot decode the recording: ${wordsOf(words, file) || `code ${code}`}`))
    })
  })

/** Decodes any recording that ffmpeg can read, from a file, because some containers store their index at the end. */
export const decodeWithFfmpeg = async (
  program: string,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<Float32Array> => {
  const folder = await makeTemporaryFolder('svc-audio')
  try {
    const file = join(folder, 'recording')
    await writeFile(file, bytes, { mode: 0o600 })
    const pcm = await runFfmpeg(program, file, signal)
    if (pcm.length > MAX_SECONDS * SAMPLE_RATE * 4) throw tooLong()
    if (pcm.length < 4) throw invalidAudio('The recording contains no sound.')
    // Copied so that the float32 values are aligned.
    return new Float32Array(Uint8Array.prototype.slice.call(pcm, 0, pcm.length - (pcm.length % 4)).buffer)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
