import { read } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { BlobRange } from './blob-store.ts'

/**
 * A file, or a part of it, read into two alternating buffers: allocating every chunk costs more than a third of the CPU time of
 * a download. `pipe` requests a chunk when the destination's callback reports that the previous one is written; its `drain`
 * event does not guarantee that (a response queued behind another emits it when it gets the connection). Closes the file when
 * it has been read or the stream is destroyed.
 */
export class DoubleBufferedStream extends Readable {
  readonly #handle: FileHandle
  readonly #chunkBytes: number
  readonly #buffers: Buffer[] = []
  #turn = 0
  #at: number
  readonly #end: number
  #reading: Promise<unknown> = Promise.resolve()

  /** @param range within the file */
  constructor(handle: FileHandle, chunkBytes: number, range: BlobRange) {
    // Reads one chunk ahead while another is being written, never a third.
    super({ highWaterMark: chunkBytes })
    this.#handle = handle
    this.#chunkBytes = chunkBytes
    this.#at = range.start
    this.#end = range.end + 1
  }

  override _read(): void {
    const left = this.#end - this.#at
    if (left <= 0) {
      this.push(null)
      return
    }
    // A small file needs a buffer of only its size, and no second one.
    this.#buffers[this.#turn] ??= Buffer.allocUnsafeSlow(Math.min(this.#chunkBytes, left))
    const buffer = this.#buffers[this.#turn]!
    this.#turn = 1 - this.#turn
    this.#reading = this.#fill(buffer).then(
      (length) => void this.push(length === 0 ? null : buffer.subarray(0, length)),
      (error: Error) => void this.destroy(error),
    )
  }

  /** Fills the buffer, except at the end: a short chunk would allow another to be read ahead. */
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
    // The caller of `pipe` handles this stream's errors itself, as for any stream.
    void this.#pour(destination).catch(() => undefined)
    return destination
  }

  async #pour(destination: NodeJS.WritableStream): Promise<void> {
    // A response that is aborted while queued never calls back.
    const closed = new Promise<void>((resolve) => destination.once('close', resolve))
    void closed.then(() => this.destroy())
    for await (const chunk of this) {
      const written = new Promise<void>((resolve) => void destination.write(chunk as Buffer, () => resolve()))
      await Promise.race([written, closed])
    }
    destination.end()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // If it were closed during a read, the descriptor's number could already belong to another file.
    void this.#reading
      .then(() => this.#handle.close())
      .then(
        () => done(error),
        (closing: Error) => done(error ?? closing),
      )
  }
}
