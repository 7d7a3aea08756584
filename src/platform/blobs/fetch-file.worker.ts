import { createHash } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { Agent, type ClientRequest, get, type IncomingMessage, type RequestOptions } from 'node:http'
import { get as getEncrypted, Agent as TlsAgent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import type { FetchOrder, FetchReply } from './fetch-file.ts'

/** Of a request without an answer, and of an answer without a byte. */
const STALL_MS = 10_000
/** In a row that bring nothing. */
const TRIES = 5
const FIRST_WAIT_MS = 200

const agents = { http: new Agent({ keepAlive: true }), https: new TlsAgent({ keepAlive: true }) }

const isMissing = Symbol('404')

const answerTo = (url: string, headers: RequestOptions['headers']): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request: ClientRequest = url.startsWith('https:')
      ? getEncrypted(url, { headers, agent: agents.https }, resolve)
      : get(url, { headers, agent: agents.http }, resolve)
    request.on('error', reject)
    request.setTimeout(STALL_MS, () => request.destroy(new Error(`nothing arrived for ${STALL_MS / 1000} s`)))
  })

/** What the disk says is not the store's fault, and no other try mends it. */
class DiskFault extends Error {}

/** Hands on each chunk while it is in the processor's cache. */
const receive = (answer: IncomingMessage, take: (chunk: Uint8Array) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    answer.on('data', (chunk: Uint8Array) => {
      try {
        take(chunk)
      } catch (error) {
        answer.destroy(error as Error)
      }
    })
    answer.on('end', resolve)
    answer.on('error', reject)
  })

const writeWhole = (fd: number, bytes: Uint8Array): void => {
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
  } catch (error) {
    throw new DiskFault((error as Error).message, { cause: error })
  }
}

/** @throws DiskFault; `isMissing`; why the store's last answer was none */
const fetchInto = async (fd: number, url: string): Promise<Extract<FetchReply, { ok: true }>> => {
  const hash = createHash('sha256')
  let size = 0
  let whole: number | undefined
  for (let failed = 0; ; ) {
    const from = size
    try {
      const answer = await answerTo(url, from === 0 ? {} : { range: `bytes=${from}-` })
      const { statusCode, headers } = answer
      if (statusCode !== (from === 0 ? 200 : 206)) {
        answer.resume()
        if (statusCode === 404) throw isMissing
        throw new Error(`the store answered ${statusCode}`)
      }
      if (from > 0 && headers['content-range']?.startsWith(`bytes ${from}-`) !== true) {
        answer.destroy()
        throw new Error(`bytes from ${from} were asked for, and '${headers['content-range']}' came`)
      }
      whole ??= Number(headers['content-length'])
      await receive(answer, (chunk) => {
        hash.update(chunk)
        writeWhole(fd, chunk)
        size += chunk.length
      })
      if (size === whole) return { ok: true, sha256: hash.digest('hex'), size }
      throw new Error(`${size} bytes arrived of ${whole}`)
    } catch (error) {
      if (error instanceof DiskFault || error === isMissing) throw error
      failed = size > from ? 1 : failed + 1
      if (failed === TRIES) throw error
      await sleep(FIRST_WAIT_MS * 2 ** (failed - 1))
    }
  }
}

const replyTo = async ({ url, path }: FetchOrder): Promise<FetchReply> => {
  let fd: number | undefined
  try {
    fd = openSync(path, 'wx', 0o600)
    return await fetchInto(fd, url)
  } catch (error) {
    if (error === isMissing) return { ok: false, fault: 'missing' }
    const { message, cause } = error as Error
    if (fd !== undefined && !(error instanceof DiskFault)) return { ok: false, fault: 'away', message }
    return { ok: false, fault: 'disk', message, code: ((cause ?? error) as NodeJS.ErrnoException).code }
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

parentPort?.on('message', (order: FetchOrder) => {
  void replyTo(order).then((reply) => {
    order.answer.postMessage(reply)
    order.answer.close()
  })
})
