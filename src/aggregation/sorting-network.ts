/** Orders two wires: `low` gets the smaller value and `high` the larger. */
export interface Comparator {
  readonly low: number
  readonly high: number
  /** Whether the resulting value of each wire is used. */
  readonly lowUsed: boolean
  readonly highUsed: boolean
}

/** Batcher's merge exchange for any number of wires (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M). */
function* mergeExchange(wires: number): Generator<readonly [number, number]> {
  const top = 2 ** Math.max(Math.ceil(Math.log2(wires)) - 1, 0)
  for (let p = top; wires > 1 && p >= 1; p /= 2) {
    for (let q = top, r = 0, d = p; ; d = q - p, q /= 2, r = p) {
      for (let i = 0; i < wires - d; i++) if ((i & p) === r) yield [i, i + d]
      if (q === p) break
    }
  }
}

/**
 * Builds a sorting network over `wires` with only the comparators needed for the ranks [from, to): in that range, wire k
 * ends up with the value of rank k (0 is the smallest). This drops about half of a median's comparators and one side of many
 * others.
 */
export const rankNetwork = (wires: number, from: number, to: number): readonly Comparator[] => {
  const used = Array.from({ length: wires }, (_, wire) => wire >= from && wire < to)
  const kept: Comparator[] = []
  for (const [low, high] of [...mergeExchange(wires)].reverse()) {
    const [lowUsed, highUsed] = [used[low]!, used[high]!]
    if (!lowUsed && !highUsed) continue
    used[low] = true
    used[high] = true
    kept.push({ low, high, lowUsed, highUsed })
  }
  return kept.reverse()
}

/** A function from rows to the mean of some ranks of each column, as straight-line code for exactly `rows` rows. */
export interface NetworkShape {
  readonly rows: number
  /** Bytes from row to row. */
  readonly stride: number
  /** Element type of the rows. */
  readonly lanes: 'f32' | 'f64'
  readonly out: 'f32' | 'f64'
  /** The ranks [from, to) of each column to average. */
  readonly from: number
  readonly to: number
  readonly comparators: readonly Comparator[]
}

// WebAssembly core specification 2.0, chapter 5 "Binary Format".
const unsigned = (value: number): number[] => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return [...bytes, rest]
}
const signed = (value: number): number[] => (value < 64 ? [value] : [(value % 128) + 128, ...signed(value >> 7)])
const section = (id: number, ...items: readonly number[][]): number[] => {
  const body = [...unsigned(items.length), ...items.flat()]
  return [id, ...unsigned(body.length), ...body]
}
const named = (name: string): number[] => [name.length, ...new TextEncoder().encode(name)]
const simd = (code: number): number[] => [0xfd, ...unsigned(code)]

const I32 = 0x7f
const V128 = 0x7b
const get = (local: number): number[] => [0x20, ...unsigned(local)]
const set = (local: number): number[] => [0x21, ...unsigned(local)]
const addTo = (local: number, amount: number): number[] => [...get(local), 0x41, ...signed(amount), 0x6a, ...set(local)]
const load = (offset: number): number[] => [...simd(0), 4, ...unsigned(offset)]
const store = (offset: number): number[] => [...simd(11), 4, ...unsigned(offset)]
const constant = (lanes: Float64Array): number[] => [...simd(12), ...new Uint8Array(lanes.buffer)]
const shuffle = (...bytes: number[]): number[] => [...simd(13), ...bytes]

const ZERO = constant(Float64Array.of(0, 0))
const ANY_TRUE = simd(83)
const PROMOTE_LOW = simd(95)
const DEMOTE = simd(94)
const F64_ADD = simd(240)
const F64_DIV = simd(243)
const LANES = {
  f32: { add: simd(228), sub: simd(229), ne: simd(66), pmin: simd(234), pmax: simd(235) },
  f64: { add: F64_ADD, sub: simd(241), ne: simd(72), pmin: simd(246), pmax: simd(247) },
} as const
const UPPER_HALF = shuffle(8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
const lowerHalf = (value: number[]): number[] => [...value, ...PROMOTE_LOW]
const upperHalf = (value: number[]): number[] => [...value, ...value, ...UPPER_HALF, ...PROMOTE_LOW]
const LOWER_HALVES = shuffle(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)

// Parameters: the start of the rows, the start of the results, and the end of the first row. Locals: wires and two checks.
const [ROWS, OUT, END] = [0, 1, 2]
const FIRST_WIRE = 3

/**
 * Builds a module that imports env.memory and exports `run(rows, out, end)`. It returns 1 if an element or a result is NaN
 * or infinite, or if the elements' own sum overflows; callers must then check further, because pmin and pmax lose NaN. Sums
 * run in f64 from +0 in the order of ranks and are divided and rounded once.
 */
export const networkModule = (shape: NetworkShape): Uint8Array<ArrayBuffer> => {
  const { rows, stride, lanes, out, from, to, comparators } = shape
  const op = LANES[lanes]
  const wire = (k: number): number => FIRST_WIRE + k
  const check = (k: number): number => FIRST_WIRE + rows + (k % 2)
  const checked = (k: number, value: number[]): number[] => [...get(check(k)), ...value, ...op.add, ...set(check(k))]
  const input = Array.from({ length: rows }, (_, k) => [
    ...[...get(ROWS), ...load(k * stride), ...set(wire(k))],
    ...checked(k, get(wire(k))),
  ])
  const ordered = comparators.map(({ low, high, lowUsed, highUsed }) => [
    // This operand order keeps both of two equal values, including zeros of different sign.
    ...(lowUsed ? [...get(wire(low)), ...get(wire(high)), ...op.pmin] : []),
    ...(highUsed ? [...get(wire(high)), ...get(wire(low)), ...op.pmax, ...set(wire(high))] : []),
    ...(lowUsed ? set(wire(low)) : []),
  ])
  const count = to - from
  const mean = (part: (value: number[]) => number[]): number[] => [
    ...ZERO,
    ...Array.from({ length: count }, (_, k) => [...part(get(wire(from + k))), ...F64_ADD]).flat(),
    ...(count === 1 ? [] : [...constant(Float64Array.of(count, count)), ...F64_DIV]),
  ]
  const parts = lanes === 'f64' ? [(value: number[]) => value] : [lowerHalf, upperHalf]
  const results =
    out === 'f32'
      ? [...get(OUT), ...parts.flatMap((part) => [...mean(part), ...DEMOTE]), ...LOWER_HALVES, ...store(0)]
      : parts.flatMap((part, k) => [...get(OUT), ...mean(part), ...store(k * 16)])
  const resultBytes = out === 'f32' || lanes === 'f64' ? 16 : 32
  const isBad = [...get(check(0)), ...get(check(1)), ...op.add]
  const body = [
    ...[1, ...unsigned(rows + 2), V128],
    ...[0x03, 0x40],
    ...input.flat(),
    ...ordered.flat(),
    ...results,
    ...(lanes === 'f64' ? checked(0, [...get(OUT), ...load(0)]) : []),
    ...addTo(OUT, resultBytes),
    ...addTo(ROWS, 16),
    ...[...get(ROWS), ...get(END), 0x49, 0x0d, 0],
    0x0b,
    ...[...isBad, ...isBad, ...op.sub, ...ZERO, ...op.ne, ...ANY_TRUE],
    0x0b,
  ]
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [0x60, 3, I32, I32, I32, 1, I32]),
    ...section(2, [...named('env'), ...named('memory'), 2, 0, 1]),
    ...section(3, [0]),
    ...section(7, [...named('run'), 0, 0]),
    ...section(10, [...unsigned(body.length), ...body]),
  ])
}
