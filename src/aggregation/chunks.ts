import { BYTES_OF, type DType, elementCount } from '../tensors/weight-file.ts'
import type { Update } from './job.ts'
import { type Kernel, padded } from './kernel.ts'
import { nameOfUpdate, type RoundFiles } from './round-files.ts'
import type { Chunk } from './strategy.ts'

/** Zeroes behind what was just loaded: vector loops work on whole vectors. */
export const padRow = (kernel: Kernel, dtype: DType, address: number, length: number): void => {
  const itemBytes = BYTES_OF[dtype]
  if (length % 8 !== 0) kernel.bytes(address + length * itemBytes, (padded(length) - length) * itemBytes).fill(0)
}

/** What chunks are read from and written to. */
export type ChunkFiles = Omit<RoundFiles, 'output' | 'close'> & {
  readonly output: Pick<RoundFiles['output'], 'tiedTo'>
}

/** The columns of tensor number `tensor`, at most `columns` at a time, in order. */
export function* chunksOf(
  files: ChunkFiles,
  tensor: number,
  columns: number,
  updates: readonly Pick<Update, 'id'>[],
  kernel: Kernel,
): Generator<Chunk> {
  const { name, dtype, shape } = files.template.tensors[tensor]!
  const place = files.output.tiedTo(tensor)
  const count = elementCount(shape)
  const itemBytes = BYTES_OF[dtype]
  for (let start = 0; start < count; start += columns) {
    const length = Math.min(columns, count - start)
    const loadFrom = (rows: RoundFiles['updates'] | null, row: number, address: number): void => {
      if (rows === null) throw new Error('The strategy reads files that it did not declare in `needs`.')
      rows.read(row, tensor, start * itemBytes, kernel.bytes(address, length * itemBytes))
      padRow(kernel, dtype, address, length)
    }
    yield {
      tensor: name,
      place,
      dtype,
      start,
      length,
      rows: updates.length,
      load: (row, address) => loadFrom(files.updates, row, address),
      loadGlobal: (address) => loadFrom(files.global, 0, address),
      loadBase: (row, address) => loadFrom(files.bases?.rows ?? null, files.bases?.of[row] ?? 0, address),
      loadControl: (row, address) => loadFrom(files.controls, row, address),
      loadState: (vector, address) => files.state?.load(vector, place, start, kernel.bytes(address, length * 8)),
      saveState: (vector, address) => files.state?.save(vector, place, start, kernel.bytes(address, length * 8)),
      saveControl: (address) => files.controlOutput?.write(tensor, start, kernel.bytes(address, length * itemBytes)),
      nameOf: (row) => nameOfUpdate(updates[row]!.id),
    }
  }
}
