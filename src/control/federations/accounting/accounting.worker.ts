import { parentPort } from 'node:worker_threads'
import { createAnswering, type Question, type Reply } from './questions.ts'

const answer = createAnswering()

const replyTo = (question: Question): Reply => {
  try {
    return { ok: true, answer: answer(question) }
  } catch (error) {
    return { ok: false, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}

parentPort?.on('message', (question: Question) => parentPort?.postMessage(replyTo(question)))
