import { rmSync } from 'node:fs'
import { conflict } from '../domain/errors.ts'
import { readWeights } from '../tensors/read-weights.ts'
import { showName } from '../tensors/shape.ts'
import { BYTES_OF, elementCount, type WeightFile } from '../tensors/weight-file.ts'
import { openFile } from './files.ts'
import type { AggregationJob, AggregationResult } from './job.ts'
import { createKernel, type Kernel, padded } from './kernel.ts'
import { OutputFile } from './output.ts'
import { compareIds } from './receipt.ts'
import { STRATEGIES } from './strategies.ts'
import type { Chunk } from './strategy.ts'
import { nameOfUpdate, UpdateRows } from './update-rows.ts'

type Updates = AggregationJob['updates']

/** By device id, whatever the order of arrival. Throws conflict when they cannot be ordered or weighed. */
const inOrder = (updates: Updates): Updates => {
  if (updates.length === 0) throw conflict('There are no updates to aggregate.')
  const ordered = [...updates].sort((a, b) => compareIds(a.id, b.id))
  ordered.forEach(({ id, numSamples }, k) => {
    if (ordered[k - 1]?.id === id) throw conflict(`Device '${id}' has two updates in one aggregation.`)
    if (!Number.isSafeInteger(numSamples) || numSamples < 0)
      throw conflict(`The ${nameOfUpdate(id)} counts ${numSamples} samples; a whole number of at least 0 is needed.`)
  })
  const total = ordered.reduce((sum, { numSamples }) => sum + numSamples, 0)
  if (!Number.isSafeInteger(total)) throw conflict('The updates count more samples together than can be added exactly.')
  return ordered
}

const readTemplate = (path: string): WeightFile => {
  const file = openFile(path, 'r')
  try {
    return readWeights(file)
  } finally {
    file.close()
  }
}

/** The model's columns, at most `columns` at a time. Chunks of one tensor come in order. */
function* chunksOf(
  template: WeightFile,
  tensor: number,
  columns: number,
  rows: { readonly file: UpdateRows; readonly updates: Updates },
  kernel: Kernel,
): Generator<Chunk> {
  const { name, dtype, shape } = template.tensors[tensor]!
  const count = elementCount(shape)
  const itemBytes = BYTES_OF[dtype]
  for (let start = 0; start < count; start += columns) {
    const length = Math.min(columns, count - start)
    const bytes = length * itemBytes
    yield {
      tensor: name,
      dtype,
      start,
      length,
      rows: rows.updates.length,
      load: (row, address) => {
        rows.file.read(row, tensor, start * itemBytes, kernel.bytes(address, bytes))
        if (length % 8 !== 0) kernel.bytes(address + bytes, padded(length) * itemBytes - bytes).fill(0)
      },
      nameOf: (row) => nameOfUpdate(rows.updates[row]!.id),
    }
  }
}

/**
 * Many weight files into one, chunk by chunk: memory depends neither on the model nor, but for a few bytes per tensor,
 * on the number of updates. The same files, ids and sample counts give the same bytes. Scratch files are gone at the
 * end; a failed job leaves no output. Throws conflict naming the update that cannot be combined and the reason.
 */
export const aggregateFiles = async (job: AggregationJob): Promise<AggregationResult> => {
  const updates = inOrder(job.updates)
  const templatePath = job.templatePath ?? updates[0]!.path
  const template = readTemplate(templatePath)
  const file = await UpdateRows.open(updates, template, `${job.outputPath}.row`)
  let output: OutputFile | null = null
  let done = false
  try {
    output = new OutputFile(templatePath, template, job.outputPath)
    const weights = combineInto(output, job, template, { file, updates })
    output.finish()
    done = true
    return {
      format: output.weights.format,
      tensors: template.tensors.length,
      elements: template.tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0),
      weights: updates.map(({ id }, k) => ({ id, weight: weights[k]! })),
    }
  } finally {
    file.close()
    output?.close()
    if (!done) rmSync(job.outputPath, { force: true })
  }
}

const combineInto = (
  output: OutputFile,
  job: AggregationJob,
  template: WeightFile,
  rows: { readonly file: UpdateRows; readonly updates: Updates },
): readonly number[] => {
  const kernel = createKernel()
  const strategy = STRATEGIES[job.strategy](
    kernel,
    rows.updates.map(({ numSamples }) => numSamples),
  )
  const tensors = template.tensors.map((_, tensor) => tensor)
  if (strategy.survey)
    for (const tensor of tensors)
      for (const chunk of chunksOf(template, tensor, strategy.columns, rows, kernel)) strategy.survey(chunk)
  for (const tensor of tensors) {
    const first = output.tiedTo(tensor)
    if (first !== tensor && rows.file.tie(tensor, first)) continue
    for (const chunk of chunksOf(template, tensor, strategy.columns, rows, kernel)) {
      const result = kernel.bytes(strategy.combine(chunk), chunk.length * BYTES_OF[chunk.dtype])
      if (first === tensor) output.write(tensor, chunk.start, result)
      else if (Buffer.compare(output.read(first, chunk.start, chunk.length), result) !== 0)
        throw conflict(
          `Tensors ${showName(template.tensors[first]!.name)} and ${showName(chunk.tensor)} share one storage in the ` +
            'model, but the updates give them different values. Train them as one.',
        )
    }
  }
  return strategy.weights()
}
