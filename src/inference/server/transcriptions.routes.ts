import multipart from '@fastify/multipart'
import type { App } from '../../http/app.ts'
import { createAdmission } from '../queue/admission.ts'
import { whilePresent } from './client-presence.ts'
import { type ModelDeps, withModel } from './open-model.ts'
import { TRANSCRIPT_FORMATS } from './transcript-formats.ts'
import { FORM_LIMITS, readTranscriptionForm } from './transcription-form.ts'

const SAMPLE_RATE = 16_000
/** Recordings that are held in memory at the same time; further ones are not read before. */
const MOST_RECORDINGS = 4
const MOST_WAITING = 64
const PATIENCE_MS = 120_000

/** Any recording as mono samples at 16 kHz. @throws InferenceError for what cannot be decoded */
export type DecodeAudio = (bytes: Uint8Array) => Promise<Float32Array>

/** POST /v1/audio/transcriptions */
export const transcriptionRoutes = async (app: App, deps: ModelDeps, decode: DecodeAudio): Promise<void> => {
  const memory = createAdmission({
    slots: MOST_RECORDINGS,
    maxQueue: MOST_WAITING,
    patienceMs: PATIENCE_MS,
    now: () => performance.now(),
  })
  await app.register(async (scope) => {
    await scope.register(multipart, { limits: FORM_LIMITS })
    scope.post('/v1/audio/transcriptions', (request, reply) =>
      whilePresent(request, reply, async (signal) => {
        const [place] = await Promise.all(memory.enter(1, signal))
        try {
          const { model: name, audio, language, format } = await readTranscriptionForm(request)
          const { type, body } = await withModel(deps, { name, ability: 'transcribe', signal }, async (engine) => {
            const samples = await decode(audio)
            const transcript = await engine.transcribe(samples, language, signal)
            return TRANSCRIPT_FORMATS[format](transcript, samples.length / SAMPLE_RATE)
          })
          return reply.type(type).send(body)
        } finally {
          place!.release()
        }
      }),
    )
  })
}
