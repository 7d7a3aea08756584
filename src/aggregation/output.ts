import { ftruncateSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { writePieces } from '../tensors/container-plan.ts'
import type { WeightFile } from '../tensors/formats.ts'
import { layoutOf } from '../tensors/layout.ts'
import { canPatch, seal, writeTensorBytes } from '../tensors/patch.ts'
import { planWeightFile } from '../tensors/plan-weight-file.ts'
import { BYTES_OF, byteLength, elementCount, isDirect, type Tensor } from '../tensors/weight-file.ts'
import { SLICE_BYTES, slicesOf } from './expand.ts'
import { type OpenFile, openFile, reusingReads, ScratchFile } from './files.ts'

const COPY_BYTES = 1024 * 1024

/** Copies a file except the bytes of its direct tensors, which will be overwritten. */
const copyAround = (from: OpenFile, to: OpenFile, tensors: readonly Tensor[]): void => {
  ftruncateSync(to.fd, from.size)
  const holes = tensors
    .filter(isDirect)
    .map((tensor) => ({ start: tensor.byteOffset, end: tensor.byteOffset + byteLength(tensor) }))
    .sort((a, b) => a.start - b.start)
  let at = 0
  for (const { start, end } of [...holes, { start: from.size, end: from.size }]) {
    for (; at < start; at += Math.min(COPY_BYTES, start - at))
      to.write(at, from.read(at, Math.min(COPY_BYTES, start - at)))
    at = Math.max(at, end)
  }
}

/** Writes everything except the tensors' values and returns their positions. */
const lay = (templatePath: string, template: WeightFile, target: OpenFile): WeightFile => {
  if (!canPatch(template)) {
    const plan = planWeightFile(template.format, layoutOf(template))
    ftruncateSync(target.fd, plan.size)
    writePieces(target, plan)
    return plan.file
  }
  const source = openFile(templatePath, 'r')
  try {
    copyAround(source, target, template.tensors)
    return template
  } finally {
    source.close()
  }
}

/**
 * The aggregate's file: a copy of the template with new tensor values, so that metadata and other content are kept, or a new
 * container of the same kind if values cannot be replaced in place.
 */
export class OutputFile {
  /** The file being written; its tensors are in the template's order. */
  readonly weights: WeightFile
  readonly #file: OpenFile
  readonly #tensors: readonly Tensor[]
  /** The first tensor at each byte offset. */
  readonly #firstAt = new Map<number, number>()
  /** Buffers row-major results for strided and big-endian tensors until complete; the map has their offsets by tensor. */
  readonly #pending: ScratchFile
  readonly #pendingAt = new Map<number, number>()

  constructor(templatePath: string, template: WeightFile, outputPath: string) {
    this.#file = openFile(outputPath, 'w+')
    try {
      this.weights = lay(templatePath, template, this.#file)
    } catch (error) {
      this.#file.close()
      throw error
    }
    const places = new Map(this.weights.tensors.map((tensor) => [tensor.name, tensor]))
    this.#tensors = template.tensors.map(({ name }) => places.get(name)!)
    this.#pending = new ScratchFile(`${outputPath}.places`)
    let end = 0
    for (const [index, tensor] of this.#tensors.entries()) {
      if (byteLength(tensor) === 0) continue
      if (!this.#firstAt.has(tensor.byteOffset)) this.#firstAt.set(tensor.byteOffset, index)
      if (isDirect(tensor)) continue
      this.#pendingAt.set(index, end)
      end += byteLength(tensor)
    }
  }

  /** Returns the first tensor in the same place as number `index`: `index` itself, unless the model ties them. */
  tiedTo(index: number): number {
    return this.#firstAt.get(this.#tensors[index]!.byteOffset) ?? index
  }

  /** Writes row-major little-endian elements of tensor number `index`, beginning at element `start`. */
  write(index: number, start: number, bytes: Uint8Array): void {
    const { file, offset } = this.#place(index)
    file.write(offset + start * BYTES_OF[this.#tensors[index]!.dtype], bytes)
  }

  /** Reads back `length` elements as they were written. */
  read(index: number, start: number, length: number): Uint8Array {
    const { file, offset } = this.#place(index)
    const itemBytes = BYTES_OF[this.#tensors[index]!.dtype]
    return file.read(offset + start * itemBytes, length * itemBytes)
  }

  #place(index: number): { readonly file: OpenFile; readonly offset: number } {
    const pendingAt = this.#pendingAt.get(index)
    return pendingAt === undefined
      ? { file: this.#file, offset: this.#tensors[index]!.byteOffset }
      : { file: this.#pending.file, offset: pendingAt }
  }

  /** Copies strided and big-endian results into place and recomputes checksums. */
  finish(): void {
    for (const index of this.#pendingAt.keys()) {
      if (this.tiedTo(index) !== index) continue
      const tensor = this.#tensors[index]!
      for (const { tensor: part, start } of slicesOf(tensor, SLICE_BYTES / BYTES_OF[tensor.dtype]))
        writeTensorBytes(this.#file, part, this.read(index, start, elementCount(part.shape)))
    }
    seal(reusingReads(this.#file, COPY_BYTES), this.weights, crc32)
  }

  close(): void {
    this.#file.close()
    this.#pending.remove()
  }
}
