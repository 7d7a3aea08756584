import { read } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'

/**
 * A file, or a part of it, in two buffers used in turns: fresh memory for every chunk costs more than a third of the
 * processor time of a download. `pipe` asks for a chunk when the one before is on its way, which the destination says by
 * calling back; its `drain` is no such promise (a response queued behind another emits it when it gets the connection).
 */
class DoubleBufferedStream extends Readable {
  readonly #handle: FileHandle
  readonly #chunkBytes: number
  readonly #buffers: Buffer[] = []
  #turn = 0
  #at: number
  readonly #end: number
  #reading: Promise<unknown> = Promise.resolve()

  constructor(handle: FileHandle, chunkBytes: number, start: number, end: number) {
    // One chunk is read ahead while another is on its way, and never a third.
    super({ highWaterMark: chunkBytes })
    this.#handle = handle
    this.#chunkBytes = chunkBytes
    this.#at = start
    this.#end = end
  }

  override _read(): void {
    const left = this.#end - this.#at
    if (left <= 0) {
      this.push(null)
      return
    }
    // A small file needs no more memory than it has bytes, and no second buffer.
    this.#buffers[this.#turn] ??= Buffer.allocUnsafeSlow(Math.min(this.#chunkBytes, left))
    const buffer = this.#buffers[this.#turn]!
    this.#turn = 1 - this.#turn
    this.#reading = this.#fill(buffer).then(
      (length) => void this.push(length === 0 ? null : buffer.subarray(0, length)),
      (error: Error) => void this.destroy(error),
    )
  }

  /** Fills the buffer but at the end: a chunk cut short would let another one be read ahead. */
  async #fill(buffer: Buffer): Promise<number> {
    let length = 0
    const requested = Math.min(buffer.length, this.#end - this.#at)
    while (length < requested) {
      const got = await this.#readInto(buffer, length, requested - length)
      if (got === 0) break
      length += got
      this.#at += got
    }
    return length
  }

  #readInto(buffer: Buffer, offset: number, length: number): Promise<number> {
    return new Promise((resolve, reject) =>
      read(this.#handle.fd, buffer, offset, length, this.#at, (error, got) => (error ? reject(error) : resolve(got))),
    )
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    // The caller of `pipe` listens for this stream's errors itself, as for any stream.
    void this.#pour(destination).catch(() => undefined)
    return destination
  }

  async #pour(destination: NodeJS.WritableStream): Promise<void> {
    // A response that is cut off while it waits for its turn never calls back.
    const closed = new Promise<void>((resolve) => destination.once('close', resolve))
    void closed.then(() => this.destroy())
    for await (const chunk of this) {
      const written = new Promise<void>((resolve) => void destination.write(chunk as Buffer, () => resolve()))
      await Promise.race([written, closed])
    }
    destination.end()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // Closed under a read, the descriptor's number could be another file's by then.
    void this.#reading
      .then(() => this.#handle.close())
      .then(
        () => done(error),
        (closing: Error) => done(error ?? closing),
      )
  }
}

/** Closes the file when it has been read or is destroyed. @param range both ends included, within the file */
export const doubleBufferedStream = (
  handle: FileHandle,
  chunkBytes: number,
  range: { readonly start: number; readonly end: number },
): Readable => new DoubleBufferedStream(handle, chunkBytes, range.start, range.end + 1)
