import type { Direction } from './loss-grid.ts'
import { type NoisySteps, nameOfKind } from './mechanism.ts'
import { ORDERS, rdpOf } from './rdp.ts'
import { logMoment } from './sampled-gaussian.ts'

/** The cached results for one kind of step. */
interface Known {
  rdp: Float64Array | null
  readonly logMoments: Map<number, number>
}

const MAX_KINDS = 4096
const MAX_MOMENTS = 1024

/** Caches the moments of single steps: the same kinds are needed for every additional round. */
export const createMoments = () => {
  const known = new Map<string, Known>()

  const of = (kind: NoisySteps): Known => {
    const name = nameOfKind(kind)
    let found = known.get(name)
    if (found === undefined) {
      if (known.size >= MAX_KINDS) known.delete(known.keys().next().value!)
      found = { rdp: null, logMoments: new Map() }
      known.set(name, found)
    }
    return found
  }

  return {
    /** Returns the Rényi differential privacy of one such step, at each of the `ORDERS`. */
    rdp(kind: NoisySteps): Float64Array {
      const found = of(kind)
      if (found.rdp !== null) return found.rdp
      const rdp = new Float64Array(ORDERS.length)
      for (const [at, order] of ORDERS.entries()) {
        rdp[at] = rdpOf(kind.noiseMultiplier, kind.sampleRate, order)
      }
      found.rdp = rdp
      return rdp
    },

    /** Returns ln E[e^(k loss)] of one such step, exactly. */
    logMoment(kind: NoisySteps, direction: Direction, k: number): number {
      const order = direction === 'remove' ? k + 1 : -k
      const { logMoments } = of(kind)
      let value = logMoments.get(order)
      if (value === undefined) {
        if (logMoments.size >= MAX_MOMENTS) logMoments.clear()
        value = logMoment(kind.noiseMultiplier, kind.sampleRate, order)
        logMoments.set(order, value)
      }
      return value
    },
  }
}

export type Moments = ReturnType<typeof createMoments>
