import { ftruncateSync } from 'node:fs'
import { conflict } from '../domain/errors.ts'
import type { WeightFile } from '../tensors/formats.ts'
import { viewOf } from '../tensors/sources.ts'
import { elementCount } from '../tensors/weight-file.ts'
import { type OpenFile, openFile, readFully, withFile } from './files.ts'

const HEADER_BYTES = 8

/** Returns the number of rounds recorded in a state file. */
export const roundsIn = (path: string): number =>
  withFile(path, (file) => viewOf(file.read(0, HEADER_BYTES)).getFloat64(0, true))

/**
 * A strategy's state between rounds: little-endian f64, first the number of rounds, then its vectors, each with one element
 * per model element in tensor order. 64 bits avoid any loss between rounds; elements that the strategy never saves (integer
 * tensors) are zero.
 */
export class StateFile {
  readonly #initial: readonly number[]
  /** The offset of each tensor's elements within a vector. */
  readonly #starts: readonly number[]
  readonly #elements: number
  readonly #before: OpenFile | null
  readonly #after: OpenFile | null

  /** `initial[v]` is the element value of vector v before the first round. Throws conflict for another model's state. */
  constructor(
    template: WeightFile,
    initial: readonly number[],
    paths: { readonly before: string | null; readonly after: string | null },
  ) {
    this.#initial = initial
    let elements = 0
    this.#starts = template.tensors.map(({ shape }) => {
      const start = elements
      elements += elementCount(shape)
      return start
    })
    this.#elements = elements
    const size = HEADER_BYTES + initial.length * elements * 8
    this.#before = paths.before === null ? null : openFile(paths.before, 'r')
    if (this.#before !== null && this.#before.size !== size) {
      this.#before.close()
      throw conflict(
        `The strategy's state has ${this.#before.size} bytes, but this model and strategy need ${size}. ` +
          'The model or strategy was changed during the job: start a new job.',
      )
    }
    this.#after = paths.after === null ? null : openFile(paths.after, 'w+')
    if (this.#after !== null) ftruncateSync(this.#after.fd, size)
  }

  /** Fills `target` with f64 elements from `start` of tensor number `place`. */
  load(vector: number, place: number, start: number, target: Uint8Array<ArrayBuffer>): void {
    if (this.#before === null)
      new Float64Array(target.buffer, target.byteOffset, target.length / 8).fill(this.#initial[vector]!)
    else readFully(this.#before.fd, target, this.#offset(vector, place, start))
  }

  save(vector: number, place: number, start: number, bytes: Uint8Array): void {
    this.#after?.write(this.#offset(vector, place, start), bytes)
  }

  finish(rounds: number): void {
    this.#after?.write(0, new Uint8Array(Float64Array.of(rounds).buffer))
  }

  close(): void {
    this.#before?.close()
    this.#after?.close()
  }

  #offset(vector: number, place: number, start: number): number {
    return HEADER_BYTES + (vector * this.#elements + this.#starts[place]! + start) * 8
  }
}
