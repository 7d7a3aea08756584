import { parentPort } from 'node:worker_threads'
import { type AccountingRequest, createAnswering, type Reply } from './accounting-requests.ts'

const answer = createAnswering()

const replyTo = (question: AccountingRequest): Reply => {
  try {
    return { ok: true, answer: answer(question) }
  } catch (error) {
    return { ok: false, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

parentPort?.on('message', (question: AccountingRequest) => parentPort?.postMessage(replyTo(question)))
