import { sizeWords } from '../domain/sizes.ts'
import type { Io } from './io.ts'

export interface Progress {
  readonly update: (done: number, total: number | null) => void
  /** Clears the bar. */
  readonly end: () => void
}

const WIDTH = 24
const EVERY_MS = 100

/** Shows a progress bar on a terminal, and nothing elsewhere. Amounts are bytes, unless `words` formats them differently. */
export const showProgress = (
  { stderr }: Pick<Io, 'stderr'>,
  what: string,
  words: (amount: number) => string = sizeWords,
): Progress => {
  if (stderr.isTTY !== true) return { update: () => undefined, end: () => undefined }
  let shownAt = Number.NEGATIVE_INFINITY
  let length = 0
  const show = (line: string): void => {
    stderr.write(`\r${line.padEnd(length)}`)
    length = line.length
  }
  return {
    update(done, total) {
      const now = performance.now()
      if (now - shownAt < EVERY_MS && done !== total) return
      shownAt = now
      if (total === null || total === 0) return show(`${what} ${words(done)}`)
      const filled = Math.round((WIDTH * done) / total)
      const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled)
      show(`${what} ${bar} ${Math.floor((100 * done) / total)}% of ${words(total)}`)
    },
    end() {
      if (length > 0) stderr.write(`\r${' '.repeat(length)}\r`)
      length = 0
    },
  }
}
