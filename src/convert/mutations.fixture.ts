import { createRandom } from '../domain/random-numbers.ts'

const randomFrom = (seed: number) => {
  const random = createRandom(seed)
  return (below: number): number => Math.floor(random() * below)
}

/** Copies of a file, each damaged in one to three places; the same in every run. */
export function* mutationsOf(bytes: Uint8Array, count: number, seed = 1): Generator<Uint8Array> {
  const random = randomFrom(seed)
  const damage = (file: Uint8Array): Uint8Array => {
    const at = random(file.length)
    const other = random(file.length)
    const length = random(40)
    const ways = [
      () => file.with(at, random(256)),
      () => file.with(at, file[at]! ^ (1 << random(8))),
      () => new Uint8Array([...file.subarray(0, at), ...file.subarray(at + length)]),
      () => new Uint8Array([...file.subarray(0, at), ...file.subarray(other, other + length), ...file.subarray(at)]),
      () => file.map((byte, i) => (i >= at && i < at + 8 ? 0xff : byte)),
      () => file.subarray(0, at),
    ]
    return ways[random(ways.length)]!()
  }
  for (let n = 0; n < count; n++) {
    let damaged = new Uint8Array(bytes) as Uint8Array
    for (let times = 1 + random(3); times > 0 && damaged.length > 0; times--) damaged = damage(damaged)
    yield damaged
  }
}
