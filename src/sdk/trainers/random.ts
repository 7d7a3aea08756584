/** A seeded random number generator: the same seed gives the same sequence on every machine. Not for secrets. */
export interface Random {
  /** Uniform in [0, 1) with 32 random bits. */
  uniform(): number
  /** Normal with the given mean and standard deviation. */
  normal(mean: number, deviation: number): number
  /** Shuffles in place (Fisher-Yates). */
  shuffle(items: Uint32Array): void
}

/** Returns a 32-bit seed for any text, such as a device id and a round id (FNV-1a over UTF-16 units). */
export const seedFrom = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

/** Chris Doty-Humphrey's sfc32 (PractRand), normals by Box and Muller (1958). */
export const seededRandom = (seed: number): Random => {
  let a = seed | 0
  let b = Math.floor(seed / 0x1_0000_0000) | 0
  let c = 0x9e3779b9 | 0
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let round = 0; round < 15; round++) next()

  const uniform = (): number => next() / 0x1_0000_0000
  let spare: number | null = null
  const standardNormal = (): number => {
    if (spare !== null) {
      const value = spare
      spare = null
      return value
    }
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()))
    const angle = 2 * Math.PI * uniform()
    spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }

  return {
    uniform,
    normal: (mean, deviation) => mean + deviation * standardNormal(),
    shuffle: (items) => {
      for (let last = items.length - 1; last > 0; last--) {
        const pick = Math.floor(uniform() * (last + 1))
        const held = items[last]!
        items[last] = items[pick]!
        items[pick] = held
      }
    },
  }
}
