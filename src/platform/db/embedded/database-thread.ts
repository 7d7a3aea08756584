import { Duplex } from 'node:stream'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { startThread } from '../../threads/start-thread.ts'
import { StartError } from '../start-error.ts'
import type { Command, Counters, Message, RowCounts, ThreadData } from './thread-messages.ts'

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never

interface Waiting {
  readonly resolve: (result: never) => void
  readonly reject: (error: Error) => void
}

/** The main thread's interface to the thread that runs PGlite. */
export interface DatabaseThread {
  /** Opens a connection, as a stream for `pg`. */
  connect(): Duplex
  /** Runs a checkpoint and a vacuum now. */
  maintain(): Promise<Counters>
  counters(): Promise<Counters>
  /** Copies the database's folder to `target` while no transaction is open, and counts its rows. */
  copy(target: string): Promise<RowCounts>
  /** Writes everything to disk and ends the thread. */
  close(): Promise<void>
}

export interface ThreadEvents {
  /** Called once if the thread ends unexpectedly. */
  readonly onFatal: (error: Error) => void
  readonly onWarning: (message: string) => void
}

/**
 * Takes the place of a TCP socket for `pg`: PostgreSQL's wire protocol over a message port to the database thread. Each write
 * is one message, so a query's parts (which `pg` corks) are received, run and answered together.
 */
class ThreadSocket extends Duplex {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    super()
    this.#port = port
    port.on('message', (bytes: Uint8Array) => this.push(bytes))
  }

  connect(): this {
    queueMicrotask(() => this.emit('connect'))
    return this
  }

  setNoDelay(): this {
    return this
  }

  setKeepAlive(): this {
    return this
  }

  ref(): this {
    this.#port.ref()
    return this
  }

  unref(): this {
    this.#port.unref()
    return this
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    // Copies only these bytes: posting a view would clone its whole buffer.
    const bytes = Uint8Array.from(chunk)
    this.#port.postMessage(bytes, [bytes.buffer])
    done()
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done)
  }

  override _final(done: () => void): void {
    this.push(null)
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#port.close()
    done(error)
  }
}

/**
 * Starts the thread on an initialized folder that the caller has locked. If the thread ends unexpectedly, pending and later
 * queries fail.
 */
export const startDatabaseThread = async (folder: string, events: ThreadEvents): Promise<DatabaseThread> => {
  const workerData: ThreadData = { folder }
  const worker = startThread(import.meta.url, 'postgres.worker', { workerData })
  const sockets = new Set<ThreadSocket>()
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let closing = false
  let started = false
  let ended: Error | undefined

  const send = <Result = Counters>(message: WithoutId<Command>): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (ended) return reject(ended)
      const id = ++lastId
      waiting.set(id, { resolve: resolve as (result: never) => void, reject })
      worker.postMessage({ ...message, id }, message.kind === 'connect' ? [message.port] : [])
    })

  const answered = (id: number, settle: (caller: Waiting) => void): void => {
    const caller = waiting.get(id)
    waiting.delete(id)
    if (caller !== undefined) settle(caller)
  }

  const end = (error: Error): void => {
    if (ended) return
    ended = error
    for (const { reject } of waiting.values()) reject(error)
    for (const socket of sockets) socket.destroy(error)
    if (started && !closing) events.onFatal(error)
  }

  await new Promise<void>((resolve, reject) => {
    let why: string | undefined
    worker.on('message', (message: Message) => {
      if (message.kind === 'failed') why = message.why
      else if (message.kind === 'trouble') events.onWarning(message.message)
      else if (message.kind === 'done') answered(message.id, ({ resolve }) => resolve(message.counters as never))
      else if (message.kind === 'copied') answered(message.id, ({ resolve }) => resolve(message.rows as never))
      else if (message.kind === 'not-copied') answered(message.id, ({ reject }) => reject(new Error(message.why)))
      else {
        started = true
        resolve()
      }
    })
    worker.on('error', (error) => (why ??= error.message))
    worker.on('exit', (code) => {
      why ??= `its thread ended with code ${code}`
      if (!started) reject(new StartError(`The embedded database in ${folder} cannot be opened: ${why}`))
      end(
        new Error(
          `The embedded database in ${folder} has stopped: ${why}. All acknowledged writes are stored: restart the service.`,
        ),
      )
    })
  })

  return {
    connect: () => {
      const { port1, port2 } = new MessageChannel()
      const socket = new ThreadSocket(port1)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      send({ kind: 'connect', port: port2 }).catch((error: Error) => socket.destroy(error))
      return socket
    },
    maintain: () => send({ kind: 'maintain' }),
    counters: () => send({ kind: 'counters' }),
    copy: (target) => send<RowCounts>({ kind: 'copy', target }),
    close: async () => {
      if (ended) return
      closing = true
      const exited = new Promise((resolve) => worker.once('exit', resolve))
      await send({ kind: 'close' })
      await exited
    },
  }
}
