import { KERNEL_WASM } from './kernel.gen.ts'

/** The types that tensors are converted from and to (ggml's names; `inference/models/gguf/ggml-types.ts` has the sizes). */
export type SourceType = 'F32' | 'F16' | 'BF16' | 'Q8_0'
export type TargetType = 'F32' | 'F16' | 'Q8_0' | 'Q4_0' | 'Q5_0' | 'Q5_1' | 'Q4_K' | 'Q5_K' | 'Q6_K'

const FROM: Readonly<Record<SourceType, string | null>> = {
  F32: null,
  F16: 'fromF16',
  BF16: 'fromBF16',
  Q8_0: 'fromQ8_0',
}

export const isSourceType = (type: string): type is SourceType => Object.hasOwn(FROM, type)

const TO: Readonly<Record<TargetType, string | null>> = {
  F32: null,
  F16: 'toF16',
  Q8_0: 'toQ8_0',
  Q4_0: 'toQ4_0',
  Q5_0: 'toQ5_0',
  Q5_1: 'toQ5_1',
  Q4_K: 'toQ4_K',
  Q5_K: 'toQ5_K',
  Q6_K: 'toQ6_K',
}

/** The largest magnitude of a weight: a scale is an f16, and the types with the coarsest scale divide by 8 or more. */
const LIMIT: Partial<Record<TargetType, number>> = { F16: 65_519, Q5_1: 65_519 }
const SCALED_LIMIT = 65_519 * 7

const PAGE = 65_536
const SCRATCH = 1024
const SCRATCH_BYTES = 4096

type Operation = (...operands: number[]) => number

export interface BlockKernel {
  /** Returns the buffer for the bytes of this many source elements; valid until the next `input`. */
  input(bytes: number, elements: number): Uint8Array
  /**
   * Converts the input and returns a view of the result, valid until the next `input`.
   * @returns null if a weight is NaN, infinite, or too large for the target.
   */
  convert(from: SourceType, to: TargetType, elements: number): Uint8Array | null
}

/** Converts between ggml's block formats, with the same bytes as its reference quantizers on x86-64. */
export const createBlockKernel = (bytesOf: (type: TargetType, elements: number) => number): BlockKernel => {
  const memory = new WebAssembly.Memory({ initial: 1 })
  const module = new WebAssembly.Module(Uint8Array.from(atob(KERNEL_WASM), (char) => char.charCodeAt(0)))
  const exported = new WebAssembly.Instance(module, { env: { memory } }).exports as Record<string, unknown>
  const run = (name: string, ...operands: number[]): number => (exported[name] as Operation)(...operands)
  const source = SCRATCH + SCRATCH_BYTES
  let floats = source
  return {
    input: (bytes, elements) => {
      floats = source + Math.ceil(bytes / 16) * 16 + 16
      // F32 is the largest target.
      const missing = floats + 2 * (elements * 4 + 64) - memory.buffer.byteLength
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE))
      return new Uint8Array(memory.buffer, source, bytes)
    },
    convert: (from, to, elements) => {
      const widen = FROM[from]
      const values = widen === null ? source : floats
      if (widen !== null) run(widen, source, floats, elements)
      // Not `largest > limit`, which is false for NaN.
      if (!(run('largest', values, elements) <= (to === 'F32' ? Number.MAX_VALUE : (LIMIT[to] ?? SCALED_LIMIT))))
        return null
      const narrow = TO[to]
      if (narrow === null) return new Uint8Array(memory.buffer, values, elements * 4)
      const target = floats + elements * 4 + 64
      run(narrow, values, target, elements, SCRATCH)
      return new Uint8Array(memory.buffer, target, bytesOf(to, elements))
    },
  }
}
