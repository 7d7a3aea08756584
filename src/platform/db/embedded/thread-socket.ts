import { Duplex } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'

/**
 * What `pg` takes for a TCP socket: PostgreSQL's wire protocol over a message port to the database thread. Each write
 * is one message, so a query's parts (which `pg` corks) arrive, run and are answered as one.
 */
export class ThreadSocket extends Duplex {
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
    // A copy of exactly these bytes: posting a view would clone the whole buffer behind it.
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
