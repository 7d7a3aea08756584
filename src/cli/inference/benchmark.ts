import { type BenchmarkResult, benchmark } from '../../inference/benchmark/benchmark.ts'
import { type ModelKind, sharedReport, thisHardware } from '../../inference/benchmark/shared-report.ts'
import { ENGINE_NAMES, type Engine } from '../../inference/engines/engine.ts'
import { InferenceError } from '../../inference/errors.ts'
import { readGgufHeader } from '../../inference/models/gguf/header.ts'
import type { ModelFile } from '../../inference/models/model-file.ts'
import { packageVersion } from '../package-version.ts'
import type { Session } from '../session.ts'
import { type ChosenModel, chooseModelAndEngine, openChosen } from './open-model.ts'
import { shareBenchmark, sharingOf } from './share-benchmark.ts'

export interface BenchmarkCommandOptions {
  readonly local?: true
  readonly iterations: number
  readonly maxTokens: number
  readonly engine: string
  readonly allEngines?: true
  readonly threads?: number
  readonly json?: true
  readonly apiBase?: string
}

interface Skipped {
  readonly engine: string
  readonly reason: string
}

/** Returns the engines that can run the model here, and the reasons why the others cannot. */
const everyEngine = async (session: Session, name: string) => {
  // Reports a missing model once, not for every engine.
  const first = await chooseModelAndEngine(session, name, 'auto').catch((error: unknown) => {
    if (error instanceof InferenceError && error.code === 'engine_missing') return null
    throw error
  })
  const able: ChosenModel[] = []
  const skipped: Skipped[] = []
  for (const engine of ENGINE_NAMES) {
    try {
      able.push(await chooseModelAndEngine(session, name, engine))
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error
      skipped.push({ engine, reason: error.message })
    }
  }
  if (first === null && able.length === 0) await chooseModelAndEngine(session, name, 'auto')
  return { able, skipped }
}

export const kindOf = async (file: ModelFile, engine: Engine): Promise<ModelKind> => {
  const { variant, bytes } = file
  if (file.format !== 'gguf') return { architecture: null, parameters: engine.model.parameters, variant, bytes }
  const { architecture, parameters } = await readGgufHeader(file.path)
  return { architecture, parameters, variant, bytes }
}

const measure = async (session: Session, chosen: ChosenModel, options: BenchmarkCommandOptions) => {
  const { io, out } = session
  const { iterations, maxTokens, threads } = options
  const settings = { slots: 1, cacheMegabytes: 0, log: () => undefined, ...(threads !== undefined && { threads }) }
  const engine = await openChosen(session, chosen, settings)
  try {
    const result = await benchmark(engine, { iterations, maxTokens, signal: io.signal })
    if (result.completionTokens < maxTokens / 2) {
      out.note(`${engine.model.name} ends its replies after about ${result.completionTokens} of ${maxTokens} tokens.`)
    }
    return { result, kind: await kindOf(chosen.file, engine) }
  } finally {
    await engine.close()
  }
}

export const rowsOf = ({
  engine,
  firstTokenMs,
  tokensPerSecond,
  totalMs,
  memoryBytes,
}: BenchmarkResult): string[][] => {
  const row = (what: string, { p50, p90, p99 }: BenchmarkResult['totalMs'], memory = ''): string[] => [
    engine,
    what,
    ...[p50, p90, p99].map((value) => value.toFixed(1)),
    memory,
  ]
  return [
    row('first token, ms', firstTokenMs, `${Math.round(memoryBytes / 1e6)} MB`),
    row('tokens per second', tokensPerSecond),
    row('whole reply, ms', totalMs),
  ]
}

const present = (result: BenchmarkResult) => ({
  engine: result.engine,
  iterations: result.iterations,
  max_tokens: result.maxTokens,
  prompt_tokens: result.promptTokens,
  completion_tokens: result.completionTokens,
  first_token_ms: result.firstTokenMs,
  tokens_per_second: result.tokensPerSecond,
  total_ms: result.totalMs,
  memory_bytes: result.memoryBytes,
})

/** Measures the model, prints the results, and shares the fields that it announced. */
export const runBenchmark = async (
  session: Session,
  model: string,
  options: BenchmarkCommandOptions,
): Promise<void> => {
  const { out } = session
  const { able, skipped } = options.allEngines
    ? await everyEngine(session, model)
    : { able: [await chooseModelAndEngine(session, model, options.engine)], skipped: [] }
  const sharing = await sharingOf(session, options)
  const measured = []
  for (const chosen of able) {
    out.note(
      `${chosen.engine.name}: ${options.iterations} ${options.iterations === 1 ? 'reply' : 'replies'} of up to ${options.maxTokens} tokens, after a warm-up.`,
    )
    measured.push({ chosen, ...(await measure(session, chosen, options)) })
  }
  const results = measured.map(({ result }) => result)
  if (!options.json) {
    out.table(['ENGINE', 'WHAT', 'P50', 'P90', 'P99', 'MEMORY'], results.flatMap(rowsOf))
    for (const { engine, reason } of skipped) out.note(`${engine} was skipped: ${reason}`)
  }
  let isShared = 'to' in sharing
  if ('not' in sharing) out.note(`Nothing was shared (${sharing.not}).`)
  else {
    const [version, hardware] = [packageVersion(), thisHardware()]
    for (const { chosen, result, kind } of measured) {
      if (chosen.file.format === 'remote') {
        out.note(`${chosen.engine.name}: nothing was shared, because the model may have run on another machine.`)
        isShared = false
        continue
      }
      const report = sharedReport(result, { version, hardware, model: kind })
      isShared = (await shareBenchmark(session, sharing.to, report)) && isShared
    }
  }
  if (options.json) out.json({ model, results: results.map(present), skipped, shared: isShared })
}
