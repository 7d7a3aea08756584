import type { Io } from './io.ts'
import { sizeWords } from './sizes.ts'

export interface Progress {
  readonly update: (done: number, total: number | null) => void
  /** Takes the bar away. */
  readonly end: () => void
}

const WIDTH = 24
const EVERY_MS = 100

/** A bar that grows on a terminal; nothing where the output goes elsewhere. */
export const showProgress = ({ stderr }: Pick<Io, 'stderr'>, what: string): Progress => {
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
      if (total === null || total === 0) return show(`${what} ${sizeWords(done)}`)
      const filled = Math.round((WIDTH * done) / total)
      const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled)
      show(`${what} ${bar} ${Math.floor((100 * done) / total)} % of ${sizeWords(total)}`)
    },
    end() {
      if (length > 0) stderr.write(`\r${' '.repeat(length)}\r`)
      length = 0
    },
  }
}
