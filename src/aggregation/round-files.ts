import { rmSync } from 'node:fs'
import { conflict } from '../domain/errors.ts'
import type { WeightFile } from '../tensors/formats.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { BYTES_OF, type DType, elementCount } from '../tensors/weight-file.ts'
import type { AggregationJob, Update } from './aggregation-messages.ts'
import { withFile } from './files.ts'
import { type Kernel, padded } from './kernel.ts'
import { OutputFile } from './output.ts'
import { StateFile } from './state-file.ts'
import type { Chunk, Strategy } from './strategy.ts'
import { type RowSource, WeightRows } from './weight-rows.ts'

export const nameOfUpdate = (id: string): string => `update of device '${id}'`

/** Names an update in messages, in a private round without its device. */
export const nameIn = ({ privacy }: Pick<AggregationJob, 'privacy'>, id: string): string =>
  privacy === null ? nameOfUpdate(id) : 'update of a device'

/** How messages name the file that all others must match. */
export const nameOfTemplate = (
  { globalPath }: Pick<AggregationJob, 'globalPath'>,
  [first]: readonly Pick<Update, 'id'>[],
): string =>
  globalPath === null ? `the first update of the round, which is of device '${first?.id}'` : 'the model of the round'

export const updateSource = ({
  id,
  path,
  rawVector = false,
}: Pick<Update, 'id' | 'path' | 'rawVector'>): RowSource => ({
  label: nameOfUpdate(id),
  path,
  rawVector,
})

/** The distributed model as a row; null in a round without one. */
export const modelSource = ({
  globalPath,
  rawVector = false,
}: Pick<AggregationJob, 'globalPath' | 'rawVector'>): RowSource | null =>
  globalPath === null ? null : { label: 'model of the round', path: globalPath, rawVector }

export const readTemplate = ({ path, rawVector = false }: Pick<Update, 'path' | 'rawVector'>): WeightFile =>
  withFile(path, (file) => readWeights(file, { rawVector }))

/** Files shared by several rows are opened once. */
interface SharedRows {
  readonly rows: WeightRows
  /** The index in `rows` of the file of update k. */
  readonly of: readonly number[]
}

/** All files that an aggregation reads and writes. */
export interface RoundFiles {
  readonly template: WeightFile
  readonly updates: WeightRows
  readonly global: WeightRows | null
  readonly bases: SharedRows | null
  readonly controls: WeightRows | null
  readonly state: StateFile | null
  readonly meanChange: StateFile | null
  readonly output: OutputFile
  readonly controlOutput: OutputFile | null
  readonly isPrivate: boolean
  /** Removes scratch files and, unless `done`, the outputs. */
  close(done: boolean): void
}

const globalSource = (job: AggregationJob): RowSource => {
  const source = modelSource(job)
  if (source === null)
    throw conflict(
      `Strategy '${job.strategy.name}'${job.privacy === null ? '' : ' with privacy'} measures changes from the model that ` +
        'the round distributes, and this round has none that can be read. Start it with a model.',
    )
  return source
}

const controlSource = ({ id, controlPath }: Update, rawVector: boolean): RowSource => {
  if (controlPath === undefined)
    throw conflict(
      `The ${nameOfUpdate(id)} does not include the change of its control variate, which the strategy needs. ` +
        'Send it as the file field `control`.',
    )
  return { label: `control variate of device '${id}'`, path: controlPath, rawVector }
}

const openBases = async (
  job: AggregationJob,
  updates: readonly Update[],
  template: WeightFile,
): Promise<SharedRows> => {
  const sources: RowSource[] = []
  const rowOf = new Map<string, number>()
  const of = updates.map(({ id, basePath }) => {
    const source =
      basePath === undefined
        ? globalSource(job)
        : { label: `model that device '${id}' started from`, path: basePath, rawVector: job.rawVector ?? false }
    if (!rowOf.has(source.path)) rowOf.set(source.path, sources.push(source) - 1)
    return rowOf.get(source.path)!
  })
  return { rows: await WeightRows.open(sources, template, `${job.outputPath}.base`), of }
}

/**
 * Opens the files that `strategy` needs for `updates`, which are sorted. Throws conflict naming a file that is missing,
 * cannot be read, or has another layout; in that case closes and removes everything.
 */
export const openRound = async (
  job: AggregationJob,
  updates: readonly Update[],
  strategy: Pick<Strategy, 'needs' | 'state'>,
): Promise<RoundFiles> => {
  const { needs = {}, state: initial } = strategy
  const opened: { close(): void }[] = []
  const outputs = [job.outputPath, job.stateOutputPath, job.controlOutputPath]
  const close = (done: boolean): void => {
    for (const file of opened) file.close()
    for (const path of outputs) if (!done && path !== null) rmSync(path, { force: true })
  }
  const keep = <T extends { close(): void }>(file: T): T => {
    opened.push(file)
    return file
  }
  const rowsOf = async (sources: readonly RowSource[], kind: string): Promise<WeightRows> =>
    keep(await WeightRows.open(sources, template, `${job.outputPath}.${kind}`, nameOfTemplate(job, updates)))
  const origin = modelSource(job) ?? updates[0]!
  const template = readTemplate(origin)
  try {
    const sources = updates.map((update) => ({ ...updateSource(update), label: nameIn(job, update.id) }))
    const rows = await rowsOf(sources, 'row')
    const global = needs.global ? await rowsOf([globalSource(job)], 'global') : null
    const controls = needs.controls
      ? await rowsOf(
          updates.map((update) => controlSource(update, job.rawVector ?? false)),
          'control',
        )
      : null
    const bases = needs.bases ? await openBases(job, updates, template) : null
    if (bases !== null) keep(bases.rows)
    const paths = { before: job.statePath, after: job.stateOutputPath }
    const state = initial === undefined ? null : keep(new StateFile(template, initial, paths))
    const { meanChangePath } = job
    const meanChange =
      meanChangePath === undefined ? null : keep(new StateFile(template, [0], { before: meanChangePath, after: null }))
    const output = keep(new OutputFile(origin.path, template, job.outputPath))
    const controlOutput =
      needs.controls && job.controlOutputPath !== null
        ? keep(new OutputFile(origin.path, template, job.controlOutputPath))
        : null
    const isPrivate = job.privacy !== null || meanChangePath !== undefined
    const inputs = { template, updates: rows, global, bases, controls, state, meanChange }
    return { ...inputs, output, controlOutput, isPrivate, close }
  } catch (error) {
    close(false)
    throw error
  }
}

/** Writes zeros after the loaded elements, because loops process whole vectors. */
export const padRow = (kernel: Kernel, dtype: DType, address: number, length: number): void => {
  const itemBytes = BYTES_OF[dtype]
  if (length % 8 !== 0) kernel.bytes(address + length * itemBytes, (padded(length) - length) * itemBytes).fill(0)
}

/** The files that chunks are read from and written to. */
type ChunkFiles = Omit<RoundFiles, 'output' | 'close'> & {
  readonly output: Pick<RoundFiles['output'], 'tiedTo'>
}

/** Yields the columns of tensor number `tensor` in order, at most `columns` at a time. */
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
      // By the tensor's own number, because devices may have sent different values for tied tensors.
      loadMeanChange: (address) => files.meanChange?.load(0, tensor, start, kernel.bytes(address, length * 8)),
      loadState: (vector, address) => files.state?.load(vector, place, start, kernel.bytes(address, length * 8)),
      saveState: (vector, address) => files.state?.save(vector, place, start, kernel.bytes(address, length * 8)),
      saveControl: (address) => files.controlOutput?.write(tensor, start, kernel.bytes(address, length * itemBytes)),
      isPrivate: files.isPrivate,
      nameOf: (row) => nameOfUpdate(updates[row]!.id),
    }
  }
}
