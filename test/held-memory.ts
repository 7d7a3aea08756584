import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY = 8 << 20

/** Measures how much binary data is held while `bytes` pass through something. */
export interface HeldMemory {
  /** Call it with the size of each piece that passes. */
  readonly passed: (bytes: number) => void
  /** The peak of bytes held, above those at the beginning. */
  readonly peak: () => number
}

/** Uncollected garbage does not count: collects it before each measurement, every 8 MiB. */
export const watchHeldMemory = (): HeldMemory => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const held = (): number => {
    collectGarbage()
    return process.memoryUsage().arrayBuffers
  }
  const base = held()
  let [peak, unseen] = [0, 0]
  return {
    passed: (bytes) => {
      unseen += bytes
      if (unseen < EVERY) return
      unseen = 0
      peak = Math.max(peak, held() - base)
    },
    peak: () => peak,
  }
}
