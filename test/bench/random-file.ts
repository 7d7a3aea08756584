import { createHash, randomFillSync } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'

const BLOCK = 16 * 1024 * 1024

/** Writes `size` random bytes, a multiple of 16 MiB, and returns their SHA-256. */
export const writeRandomFile = (path: string, size: number): string => {
  const hash = createHash('sha256')
  const block = Buffer.alloc(BLOCK)
  const file = openSync(path, 'w')
  for (let written = 0; written < size; written += BLOCK) {
    randomFillSync(block)
    hash.update(block)
    writeSync(file, block)
  }
  closeSync(file)
  return hash.digest('hex')
}
