import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { errorMessage } from '../domain/error-message.ts'
import { ServiceError } from '../domain/errors.ts'
import type { ByteSource } from '../tensors/weight-file.ts'
import { type ConversionRequest, convertModel } from './convert.ts'
import type { ConversionJob, Message } from './run-conversion.ts'

// The thread that converts a single model. It ends with the conversion.

const send = (message: Message, transfer: readonly ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, [...transfer])

const open = (path: string): ByteSource & { readonly close: () => void } => {
  const descriptor = openSync(path, 'r')
  return {
    size: fstatSync(descriptor).size,
    read(offset, length) {
      const bytes = new Uint8Array(length)
      for (let done = 0; done < length; ) {
        const count = readSync(descriptor, bytes, done, length - done, offset + done)
        if (count === 0) throw new RangeError(`The file ends before byte ${offset + length}.`)
        done += count
      }
      return bytes
    },
    close: () => closeSync(descriptor),
  }
}

const { path, fileName, formats, inputShape, architecture, reference = false } = workerData as ConversionJob
const opened: { close: () => void }[] = []
const opening = (at: string): ByteSource => {
  const source = open(at)
  opened.push(source)
  return source
}

try {
  const request: ConversionRequest = {
    fileName,
    formats,
    reference,
    ...(inputShape !== undefined && { inputShape }),
    ...(architecture !== undefined && {
      architecture: { source: opening(architecture.path), fileName: architecture.fileName },
    }),
    onStep: (step) => send({ kind: 'step', step }),
  }
  const conversion = convertModel(opening(path), request)
  const results = [...conversion.files.map(({ bytes }) => bytes), conversion.reference ?? []].flat()
  const buffers = new Set(results.map(({ buffer }) => buffer as ArrayBuffer))
  send({ kind: 'done', conversion }, [...buffers])
} catch (error) {
  const code = error instanceof ServiceError ? error.code : 'internal_error'
  send({ kind: 'failed', code, message: errorMessage(error) })
} finally {
  for (const source of opened) source.close()
}
