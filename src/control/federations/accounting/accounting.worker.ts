import { parentPort } from 'node:worker_threads'
import { type AccountingRequest, createAccountant, type Reply } from './accounting-requests.ts'

const compute = createAccountant()

const replyTo = (question: AccountingRequest): Reply => {
  try {
    return { ok: true, result: compute(question) }
  } catch (error) {
    return { ok: false, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

parentPort?.on('message', (question: AccountingRequest) => parentPort?.postMessage(replyTo(question)))
