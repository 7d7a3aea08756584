import { open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type GgufMethod, quantizeGguf } from '../../convert/gguf/quantize-gguf.ts'
import { compareModels, type ModelComparison } from '../../inference/engines/llama/compare-models.ts'
import { Failure } from '../failure.ts'
import { nameFolder } from '../inference/prompt-file.ts'
import type { Session } from '../session.ts'
import { PERPLEXITY_TEXT } from './perplexity-text.ts'
import { belowThreshold } from './quantize-output.ts'
import type { FileRequest, Measured, QuantizedFile } from './quantized-file.ts'

/** The methods that `auto` tries to meet a threshold, smallest result first. */
const BY_SIZE: readonly GgufMethod[] = ['int4', 'int8', 'float16']

/** More than the part of a text that is scored. */
const MAX_TEXT_BYTES = 2 ** 20

/** @throws Failure for a file that is not a text */
const beginningOf = async (data: string, cwd: string): Promise<string> => {
  const file = await open(resolve(cwd, data))
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_TEXT_BYTES), 0, MAX_TEXT_BYTES, 0)
    // `stream`: the last character may be cut off.
    return new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead), { stream: true })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new Failure(`--data ${data} is not a text in UTF-8.`, { cause: error })
  } finally {
    await file.close()
  }
}

/** exp(-divergence) is the geometric mean of the ratio of the two models' probabilities, weighted by the original's. */
const rowOf = (model: ModelComparison['original'], divergence: number, agreement: number): Partial<Measured> => ({
  quality: Math.exp(-divergence),
  perplexity: model.perplexity,
  divergence,
  agreement,
  milliseconds: model.millisecondsPerToken,
})

/**
 * Quantizes a GGUF file into the request's temporary folder. With a threshold or a text, both models are compared on the text.
 * `auto` takes the smallest result that meets the threshold.
 */
export const quantizeGgufFile = async (request: FileRequest, { io, out }: Session): Promise<QuantizedFile> => {
  const { source, folder, method, qualityThreshold, data } = request
  const threshold = qualityThreshold ?? null
  const isMeasured = threshold !== null || data !== undefined
  const text =
    data === undefined ? PERPLEXITY_TEXT : await beginningOf(data, io.cwd).catch(nameFolder(`--data ${data}`))
  if (text.trim() === '') throw new Failure(`--data ${data} contains no text.`)
  let original: Measured = { method: 'original' }
  const table: Measured[] = []
  let count = 0
  const report = () => ({
    table: [original, ...table],
    samples: isMeasured ? { count, of: 'tokens' as const, from: data ?? 'generated' } : null,
    threshold,
  })
  for (const each of method === 'auto' && threshold !== null ? BY_SIZE : [method]) {
    const path = join(folder, `${each}.gguf`)
    out.note(`quantizing: ${each}`)
    const { kind, bytes, sourceBytes } = await quantizeGguf(source, path, each, { signal: io.signal })
    original = { ...original, bytes: sourceBytes }
    table.push({ method: kind, bytes })
    if (isMeasured) {
      const comparison = await compareModels({ original: source, other: path }, text, io.signal)
      const { divergence, agreement } = comparison
      original = { ...original, ...rowOf(comparison.original, 0, 1) }
      table[table.length - 1] = { method: kind, bytes, ...rowOf(comparison.other, divergence, agreement) }
      count = comparison.scoredTokens
    }
    if ((table.at(-1)!.quality ?? 1) >= (threshold ?? 0)) return { ...report(), path, method: kind, notes: [] }
  }
  return { ...report(), path: null, reason: belowThreshold(table, threshold ?? 0) }
}
