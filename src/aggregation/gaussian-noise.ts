import { createCipheriv } from 'node:crypto'
import { badRequest } from '../domain/errors.ts'
import { cosSinTurns, naturalLog } from './deterministic-math.ts'

/** The purposes of noise streams. One seed serves a round; purposes and tensors never share a counter. */
export const NOISE = { elements: 1, count: 2, second: 3, third: 4, fourth: 5 } as const

const FOUR = [NOISE.elements, NOISE.second, NOISE.third, NOISE.fourth] as const

const BLOCK = 16
const ZEROS = new Uint8Array(16_384 * BLOCK)

/**
 * Independent standard normal numbers from a 32-byte seed. The same seed, purpose, place, and index give the same number on
 * every machine; without the seed, they are indistinguishable from random. AES-256 in counter mode (NIST SP 800-38A; the
 * counter block is purpose, place, and element pair) generates 16-byte blocks, and Box-Muller turns each into two numbers.
 * The radius uses 64 bits at full relative precision, so that tails reach 9.4 standard deviations.
 */
export class GaussianNoise {
  readonly #seed: Buffer

  /** `seed` is 64 hex digits. */
  constructor(seed: string) {
    if (!/^[0-9a-f]{64}$/i.test(seed)) throw badRequest('The noise seed must be 32 bytes in hex.')
    this.#seed = Buffer.from(seed, 'hex')
  }

  /** Fills `target` with the numbers from index `start` on, which must be even. */
  fill(target: Float64Array, purpose: number, place: number, start = 0): void {
    if (start % 2 !== 0) throw new Error('Noise comes in pairs: start at an even index.')
    const blocks = Math.ceil(target.length / 2)
    const most = ZEROS.length / BLOCK
    for (let done = 0; done < blocks; done += most) {
      const count = Math.min(most, blocks - done)
      const bytes = this.#keystream(purpose, place, start / 2 + done, count)
      for (let i = 0; i < count; i++) {
        const at = (done + i) * 2
        const n = bytes.getUint32(i * BLOCK, true) * 2 ** 32 + bytes.getUint32(i * BLOCK + 4, true)
        const radius = Math.sqrt(-2 * naturalLog((n + 0.5) * 2 ** -64))
        const turn =
          (bytes.getUint32(i * BLOCK + 8, true) * 2 ** 21 + (bytes.getUint32(i * BLOCK + 12, true) >>> 11)) * 2 ** -53
        const [cos, sin] = cosSinTurns(turn)
        target[at] = radius * cos
        if (at + 1 < target.length) target[at + 1] = radius * sin
      }
    }
  }

  /**
   * Fills `target` with standard normal numbers, each half the sum of four draws. An attacker who exploits the gaps between
   * the values of a single draw would have to guess all four (Holohan and Braghin 2021, "Secure Random Sampling in
   * Differential Privacy", section 4). `scratch` is as long as `target`.
   */
  fillWithFour(target: Float64Array, scratch: Float64Array, place: number, start = 0): void {
    target.fill(0)
    for (const purpose of FOUR) {
      this.fill(scratch, purpose, place, start)
      for (let i = 0; i < target.length; i++) target[i]! += scratch[i]! / 2
    }
  }

  /** Returns the only number of a purpose. */
  single(purpose: number): number {
    const target = new Float64Array(1)
    this.fill(target, purpose, 0)
    return target[0]!
  }

  #keystream(purpose: number, place: number, block: number, count: number): DataView {
    const counter = Buffer.alloc(BLOCK)
    counter.writeUInt32BE(purpose, 0)
    counter.writeUInt32BE(place, 4)
    counter.writeBigUInt64BE(BigInt(block), 8)
    const { buffer, byteOffset, length } = createCipheriv('aes-256-ctr', this.#seed, counter).update(
      ZEROS.subarray(0, count * BLOCK),
    )
    return new DataView(buffer, byteOffset, length)
  }
}
