import { isDeepStrictEqual } from 'node:util'
import { conflict, ServiceError } from '../domain/errors.ts'
import type { WeightFile } from '../tensors/formats.ts'
import { fullLayoutOf, requireSameLayout } from '../tensors/layout.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { isDirect } from '../tensors/weight-file.ts'
import { expandTensor } from './expand.ts'
import { FilePool, openFile, ScratchFile } from './files.ts'

/** A weight file and its name in error messages: `update of device 'pixel-7'`. */
export interface RowSource {
  readonly label: string
  readonly path: string
  /** Reads content of an unrecognized format as a bare float32 vector. */
  readonly rawVector: boolean
}

/** The positions of the template's tensors in a file. A round's files, up to ten thousand, usually share one object. */
interface Places {
  readonly offsets: Float64Array
  /** 1 if the offset refers to the file's scratch file. */
  readonly expanded: Uint8Array
}

/** Turns a defect of one file into the reason why the files cannot be combined. Throws other errors as they are. */
export const blame = (label: string, error: unknown): never => {
  if (error instanceof ServiceError && error.code === 'bad_request')
    throw conflict(`The ${label} cannot be combined with the others. ${error.message}`)
  throw error
}

/** Weight files of one layout as rows of numbers: row k is one file, addressed by the template's tensors. */
export class WeightRows {
  readonly #places: readonly Places[]
  readonly #scratches: readonly ScratchFile[]
  readonly #files: FilePool

  private constructor(sources: readonly RowSource[], places: readonly Places[], scratches: readonly ScratchFile[]) {
    this.#places = places
    this.#scratches = scratches
    this.#files = new FilePool([...sources.map(({ path }) => path), ...scratches.map(({ path }) => path)])
  }

  /**
   * Reads the header of every file and matches its tensors by name. Tensors that are not directly readable are expanded to
   * `<scratchPrefix>.<row>`. Throws conflict naming a file that cannot be read or whose layout differs from the template,
   * which messages call `model`.
   */
  static async open(
    sources: readonly RowSource[],
    template: WeightFile,
    scratchPrefix: string,
    model?: string,
  ): Promise<WeightRows> {
    const places: Places[] = []
    const scratches = sources.map((_, row) => new ScratchFile(`${scratchPrefix}.${row}`))
    try {
      for (const [row, source] of sources.entries()) {
        const found = await locate(source, template, scratches[row]!, model).catch((error: unknown) =>
          blame(source.label, error),
        )
        const last = places.at(-1)
        places.push(last !== undefined && isDeepStrictEqual(found, last) ? last : found)
      }
    } catch (error) {
      for (const scratch of scratches) scratch.remove()
      throw error
    }
    return new WeightRows(sources, places, scratches)
  }

  /** Fills `target` with row `row`'s bytes from byte `position` of the template's tensor number `tensor`. */
  read(row: number, tensor: number, position: number, target: Uint8Array): void {
    const { offsets, expanded } = this.#places[row]!
    const file = expanded[tensor] === 1 ? this.#places.length + row : row
    this.#files.read(file, target, offsets[tensor]! + position)
  }

  /** True if every file ties these two tensors too. */
  tie(tensor: number, other: number): boolean {
    return this.#places.every(
      ({ offsets, expanded }) => expanded[tensor] === 0 && expanded[other] === 0 && offsets[tensor] === offsets[other],
    )
  }

  close(): void {
    this.#files.close()
    for (const scratch of this.#scratches) scratch.remove()
  }
}

const locate = async (
  { path, rawVector }: RowSource,
  template: WeightFile,
  scratch: ScratchFile,
  model?: string,
): Promise<Places> => {
  const file = openFile(path, 'r')
  try {
    const weights = readWeights(file, { rawVector })
    requireSameLayout(fullLayoutOf(template), weights, model)
    const byName = new Map(weights.tensors.map((tensor) => [tensor.name, tensor]))
    const offsets = new Float64Array(template.tensors.length)
    const expanded = new Uint8Array(template.tensors.length)
    for (const [index, { name }] of template.tensors.entries()) {
      const tensor = byName.get(name)!
      if (isDirect(tensor)) offsets[index] = tensor.byteOffset
      else {
        expanded[index] = 1
        offsets[index] = await expandTensor(path, file, tensor, scratch)
      }
    }
    return { offsets, expanded }
  } finally {
    file.close()
    scratch.close()
  }
}
