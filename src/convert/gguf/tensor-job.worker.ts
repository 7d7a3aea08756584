import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../../domain/error-message.ts'
import { ServiceError } from '../../domain/errors.ts'
import { runTensorJob, type TensorJob } from './tensor-job.ts'
import type { TensorReply } from './write-gguf.ts'

const replyTo = (job: TensorJob): TensorReply => {
  try {
    runTensorJob(job)
    return { ok: true }
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : 'internal_error'
    return { ok: false, code, message: errorMessage(error) }
  }
}

parentPort?.on('message', (job: TensorJob) => parentPort?.postMessage(replyTo(job)))
