import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const EVERY = 8 << 20

/** Watches how much binary data something holds while `bytes` pass through it. */
export interface HeldMemory {
  /** Call it for each piece that passes, with its size. */
  readonly passed: (bytes: number) => void
  /** The most bytes that were held at a time, beside those that were when the watch began. */
  readonly peak: () => number
}

/** Garbage that nobody has collected yet does not count: looking collects it, every 8 MiB. */
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
