import multipart from '@fastify/multipart'
import type { App } from '../../platform/http/app.ts'
import { whilePresent } from '../../platform/http/client-disconnect.ts'
import { decodeAudio } from '../audio/decode.ts'
import { SAMPLE_RATE } from '../audio/sound.ts'
import { createAdmission, withSlot } from '../runtime/queue/admission.ts'
import { TRANSCRIPTIONS } from './error-responses.ts'
import { TRANSCRIPT_FORMATS } from './transcript-formats.ts'
import {
  FORM_DEADLINE,
  FORM_LIMITS,
  type FormDeadline,
  readTranscriptionForm,
  withinDeadline,
} from './transcription-form.ts'
import { type ModelDeps, withModel } from './with-model.ts'

/** Recordings held in memory at once; others are not read until one of these is done. */
const MAX_RECORDINGS = 4
const MAX_WAITING = 64
const TIMEOUT_MS = 120_000

/** POST /v1/audio/transcriptions */
export const transcriptionRoutes = async (
  app: App,
  deps: ModelDeps,
  deadline: FormDeadline = FORM_DEADLINE,
): Promise<void> => {
  const memory = createAdmission({
    slots: MAX_RECORDINGS,
    maxQueue: MAX_WAITING,
    timeoutMs: TIMEOUT_MS,
    now: () => performance.now(),
  })
  await app.register(async (scope) => {
    await scope.register(multipart, { limits: FORM_LIMITS })
    scope.post(TRANSCRIPTIONS, (request, reply) =>
      whilePresent(request, reply, (signal) =>
        withSlot(memory, signal, async () => {
          const form = await withinDeadline(request, deadline, () => readTranscriptionForm(request))
          const { model: name, audio, language, format } = form
          const { type, body } = await withModel(deps, { name, ability: 'transcribe', signal }, async (engine) => {
            const samples = await decodeAudio(audio, { signal })
            const transcript = await engine.transcribe(samples, language, signal)
            return TRANSCRIPT_FORMATS[format](transcript, samples.length / SAMPLE_RATE)
          })
          return reply.type(type).send(body)
        }),
      ),
    )
  })
}
