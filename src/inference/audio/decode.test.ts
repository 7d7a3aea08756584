import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { findProgram } from '../find-program.ts'
import { decodeAudio } from './decode.ts'

const ffmpeg = await findProgram('ffmpeg', process.env)

const recording = (ending: string): Promise<Buffer> => readFile(`test/fixtures/audio/one-two-three.${ending}`)

/** Finds the loudest of the tones 300 * 1.28^digit in the middle of three tones of 0.17 s, 0.06 s apart. */
const digitsIn = (samples: Float32Array): number[] =>
  [0, 1, 2].map((index) => {
    const start = (0.05 + index * 0.23 + 0.05) * 16_000
    const tone = samples.subarray(start, start + 0.08 * 16_000)
    const heights = Array.from({ length: 10 }, (_, digit) => {
      const step = (2 * Math.PI * 300 * 1.28 ** digit) / 16_000
      const real = tone.reduce((sum, sample, at) => sum + sample * Math.cos(step * at), 0)
      const imaginary = tone.reduce((sum, sample, at) => sum + sample * Math.sin(step * at), 0)
      return Math.hypot(real, imaginary)
    })
    return heights.indexOf(Math.max(...heights))
  })

test.each(['wav', 'mp3'])('a recording in %s format is decoded to mono at 16 kHz', async (ending) => {
  const samples = await decodeAudio(await recording(ending), { env: {} })
  expect(digitsIn(samples)).toEqual([1, 2, 3])
  expect(Math.abs(samples.length / 16_000 - 0.8)).toBeLessThan(0.03)
  expect(Math.max(...samples)).toBeGreaterThan(0.25)
  expect(Math.max(...samples)).toBeLessThan(0.6)
})

test.skipIf(ffmpeg === null)('ffmpeg decodes other formats', async () => {
  for (const ending of ['flac', 'ogg', 'm4a']) {
    const samples = await decodeAudio(await recording(ending))
    expect(Math.abs(samples.length / 16_000 - 0.8)).toBeLessThan(0.1)
    if (ending !== 'm4a') expect(digitsIn(samples)).toEqual([1, 2, 3])
  }
})

test.skipIf(ffmpeg === null)("ffmpeg's report is one line without its internals", async () => {
  const cut = (await recording('m4a')).subarray(0, 2000)
  await expect(decodeAudio(cut)).rejects.toThrow(
    /^ffmpeg cannot decode the recording: moov atom not found; [^\n[]*Invalid data[^\n[]*$/,
  )
})

test.skipIf(ffmpeg === null)('ffmpeg does not follow a playlist to other files', async () => {
  const playlist = '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n'
  await expect(decodeAudio(Buffer.from(playlist))).rejects.toMatchObject({ code: 'invalid_request', param: 'file' })
})

test('without ffmpeg, other formats are refused with an error that mentions ffmpeg', async () => {
  const flac = await recording('flac')
  const tagged = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'), flac])
  for (const bytes of [await recording('ogg'), flac, tagged])
    await expect(decodeAudio(bytes, { env: { PATH: '' } })).rejects.toMatchObject({
      code: 'invalid_request',
      message:
        'Unsupported audio format: expected WAV or MP3. Other formats, such as FLAC, need ffmpeg: install it, or convert the file.',
    })
})

test.each(['wav', 'mp3'])('a truncated %s is decoded up to the cut', async (ending) => {
  const whole = await recording(ending)
  const samples = await decodeAudio(whole.subarray(0, whole.length - 2000))
  expect(samples.length).toBeGreaterThan(0.3 * 16_000)
  expect(samples.length).toBeLessThan(0.75 * 16_000)
})

test.each([
  ['nothing', Buffer.alloc(0), 'The recording is empty.'],
  [
    'an MP3 of noise',
    Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0]), Buffer.alloc(3000, 7)]),
    'The MP3 file is dam',
  ],
  ['a WAV without data', Buffer.from('RIFF\0\0\0\0WAVE'), 'The WAV file has no data chunk.'],
])('%s is refused', async (_, bytes, message) => {
  await expect(decodeAudio(bytes, { env: {} })).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'file',
    message: expect.stringContaining(message),
  })
})

test('decoding ends when its caller aborts', async () => {
  const gone = new AbortController()
  const decoding = decodeAudio(await recording('mp3'), { signal: gone.signal })
  gone.abort(new Error('gone'))
  await expect(decoding).rejects.toThrow('gone')
})
