import { parentPort } from 'node:worker_threads'
import { ServiceError } from '../domain/errors.ts'
import { aggregateFiles } from './aggregate-files.ts'
import type { Reply, Request } from './aggregation-messages.ts'
import { inspectFile, whyOpaqueFile } from './inspect.ts'
import { screenUpdates } from './screen.ts'
import { unmaskUpdates } from './unmask-updates.ts'

const handle = async (request: Request): Promise<unknown> => {
  switch (request.kind) {
    case 'inspect':
      return inspectFile(request.path, request.options)
    case 'why-opaque':
      return whyOpaqueFile(request.path)
    case 'aggregate':
      return aggregateFiles(request.job)
    case 'screen':
      return screenUpdates(request.job)
    case 'unmask':
      return unmaskUpdates(request.job)
  }
}

const replyTo = async (request: Request): Promise<Reply> => {
  try {
    return { ok: true, value: await handle(request) }
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause))
    const code = error instanceof ServiceError ? error.code : 'internal_error'
    return { ok: false, error: { code, message: error.message, stack: error.stack ?? '' } }
  }
}

parentPort?.on('message', (request: Request) => {
  void replyTo(request).then((reply) => parentPort?.postMessage(reply))
})
