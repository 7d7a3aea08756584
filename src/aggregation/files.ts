import { closeSync, fstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import type { ByteTarget } from '../tensors/weight-file.ts'

/** A random-access file. Each read returns a new buffer. */
export interface OpenFile extends ByteTarget {
  readonly fd: number
  close(): void
}

/** Fills `target` from byte `position` on. Throws if the file ends earlier. */
export const readFully = (fd: number, target: Uint8Array, position: number): void => {
  for (let done = 0; done < target.length; ) {
    const count = readSync(fd, target, done, target.length - done, position + done)
    if (count === 0) throw new Error(`A weight file ended at byte ${position + done}: it changed while being read.`)
    done += count
  }
}

export const writeFully = (fd: number, bytes: Uint8Array, position: number): void => {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, position + done)
}

/** Opens a file: `r+` also for writing, `w+` creates or truncates it. Throws Node's errors, such as ENOENT. */
export const openFile = (path: string, mode: 'r' | 'r+' | 'w+'): OpenFile => {
  const fd = openSync(path, mode)
  return {
    fd,
    size: fstatSync(fd).size,
    read: (offset, length) => {
      const bytes = new Uint8Array(length)
      readFully(fd, bytes, offset)
      return bytes
    },
    write: (offset, bytes) => writeFully(fd, bytes, offset),
    close: () => closeSync(fd),
  }
}

/** Opens a file for reading, only while `read` runs. */
export const withFile = <T>(path: string, read: (file: OpenFile) => T): T => {
  const file = openFile(path, 'r')
  try {
    return read(file)
  } finally {
    file.close()
  }
}

/** The same file without allocation per read of up to `most` bytes: each read is valid only until the next one. */
export const reusingReads = (file: OpenFile, most: number): ByteTarget => {
  const buffer = new Uint8Array(most)
  return {
    size: file.size,
    write: (offset, bytes) => file.write(offset, bytes),
    read: (offset, length) => {
      const bytes = length <= most ? buffer.subarray(0, length) : new Uint8Array(length)
      readFully(file.fd, bytes, offset)
      return bytes
    },
  }
}

/**
 * Many files for reading: keeps the first `keepOpen` open and reopens the others for every read, so that a thousand updates
 * do not exhaust file descriptors.
 */
export class FilePool {
  readonly #paths: readonly string[]
  readonly #keepOpen: number
  readonly #open = new Map<number, number>()

  constructor(paths: readonly string[], keepOpen = 128) {
    this.#paths = paths
    this.#keepOpen = keepOpen
  }

  read(index: number, target: Uint8Array, position: number): void {
    const kept = this.#open.get(index)
    if (kept !== undefined) {
      readFully(kept, target, position)
      return
    }
    const fd = openSync(this.#paths[index]!, 'r')
    if (this.#open.size < this.#keepOpen) this.#open.set(index, fd)
    try {
      readFully(fd, target, position)
    } finally {
      if (!this.#open.has(index)) closeSync(fd)
    }
  }

  close(): void {
    for (const fd of this.#open.values()) closeSync(fd)
    this.#open.clear()
  }
}

/** An append-only temporary file, created by the first write and deleted by `remove`. */
export class ScratchFile {
  readonly path: string
  #file: OpenFile | null = null
  #end = 0

  constructor(path: string) {
    this.path = path
  }

  /** The offset of the next byte. */
  get end(): number {
    return this.#end
  }

  get file(): OpenFile {
    this.#file ??= openFile(this.path, 'w+')
    return this.#file
  }

  append(bytes: Uint8Array): void {
    this.file.write(this.#end, bytes)
    this.#end += bytes.length
  }

  /** Closes the descriptor, after which nothing can be appended. The file remains until `remove`. */
  close(): void {
    this.#file?.close()
    this.#file = null
  }

  remove(): void {
    this.close()
    rmSync(this.path, { force: true })
  }
}
