import { appendFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { addPathToError } from '../../platform/files/durable-file.ts'
import { ExitCode } from '../exit-code.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { type PromptLine, readPrompts } from '../inference/prompt-file.ts'
import { showProgress } from '../progress.ts'
import { DEFAULT_API_BASE, parseApiBase } from '../service-address.ts'
import type { Session } from '../session.ts'
import {
  type Comparison,
  compare,
  errorOf,
  isExactMatch,
  type Metric,
  type Summary,
  summarize,
} from './eval-metrics.ts'
import { keyOf, type LineResult, readResults, requireResultsFile } from './eval-results.ts'
import { requireModel, type Similarity, similarityOf } from './eval-similarity.ts'
import { connectToModels, type ModelServer } from './model-server.ts'
import { valueBelow } from './quantize-output.ts'

export interface EvalOptions {
  readonly testData: string
  readonly threshold: number
  readonly apiBase?: string
  readonly metrics: readonly Metric[]
  readonly compare?: string
  readonly embeddingModel?: string
  readonly results?: string
  readonly concurrency: number
  readonly maxTokens: number
  readonly json?: true
}

/** Not the address of `svc login`: the models are usually on another server. */
const baseOf = (option: string | undefined, { io: { env } }: Session): string => {
  if (option !== undefined) return parseApiBase(option, '--api-base')
  return env.SERVICE_API_BASE ? parseApiBase(env.SERVICE_API_BASE, 'SERVICE_API_BASE') : DEFAULT_API_BASE
}

/** Evaluates a model, optionally compared with a second one. @throws ExitCode 1 below the threshold */
export const evaluate = async (model: string, options: EvalOptions, session: Session): Promise<void> => {
  const { io, out } = session
  const { metrics, threshold } = options
  const prompts = await readPrompts(options.testData, io.cwd)
  if (options.results !== undefined) {
    const path = resolve(io.cwd, options.results)
    await requireResultsFile(path, resolve(io.cwd, options.testData))
    await readResults(path)
  }
  const wantsQuality = metrics.includes('similarity') || metrics.includes('exact_match')
  if (wantsQuality && prompts.every(({ expected }) => expected === null))
    throw wrongUsage(
      `No line of ${options.testData} has an expected_output: quality cannot be measured.`,
      'Add it, or measure only the latency: --metrics latency',
    )
  const server = await connectToModels(session, baseOf(options.apiBase, session))
  const models = [model, ...(options.compare === undefined ? [] : [options.compare])]
  for (const name of models) requireModel(server, name)
  const similarity = metrics.includes('similarity') ? await similarityOf(server, options.embeddingModel) : null
  const results: (readonly LineResult[])[] = []
  for (const name of models) results.push(await evaluateLines(name, prompts, { server, similarity, options, session }))
  const summaries = results.map((lines, index) => summarize(models[index]!, lines, metrics))
  const comparisons = results[1] === undefined ? [] : compare(results[0]!, results[1])
  const [first] = summaries
  if (similarity !== null && first!.similarity === null)
    throw new Failure(`The similarity of no line could be measured: ${first!.errors[0]?.error}.`, {
      advice: 'Use another --embedding-model, or leave out similarity: --metrics exact_match,latency',
    })
  const measured = first!.similarity ?? first!.exactMatch
  const thresholdMetric = measured === null ? null : first!.similarity === null ? 'exact_match' : 'similarity'
  const passed = measured === null || measured.mean >= threshold
  const report: Report = { server, similarity, summaries, comparisons, threshold, thresholdMetric, passed }
  if (options.json) out.json(jsonOf(report))
  else print(report, session)
  if (!passed) throw new ExitCode(1)
}

interface Evaluation {
  readonly server: ModelServer
  readonly similarity: Similarity | null
  readonly options: EvalOptions
  readonly session: Session
}

/** Lines with an error are evaluated again: the server may have been restarted with other settings. */
const finishedIn = (result: LineResult | undefined): LineResult | undefined =>
  result === undefined || errorOf(result) !== null ? undefined : result

const evaluateLines = async (
  model: string,
  prompts: readonly PromptLine[],
  evaluation: Evaluation,
): Promise<readonly LineResult[]> => {
  const { session, options, similarity } = evaluation
  const { io } = session
  const path = options.results === undefined ? null : resolve(io.cwd, options.results)
  const known = path === null ? new Map<string, LineResult>() : await readResults(path)
  const settings = [
    evaluation.server.url,
    options.maxTokens,
    similarity?.method,
    similarity?.model,
    options.metrics.includes('exact_match'),
  ]
  const results: LineResult[] = []
  const waiting = [...prompts.entries()].reverse()
  const bar = showProgress(io, model, String)
  let done = 0
  let taken = 0
  let warmUp: Promise<unknown> | undefined
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [index, prompt] = next
      const key = keyOf(model, prompt, settings)
      const before = finishedIn(known.get(`${index + 1} ${key}`))
      // Not counted: the server may load the model on its first request.
      if (before === undefined && options.metrics.includes('latency'))
        await (warmUp ??= evaluation.server.chat(model, [{ role: 'user', content: 'Hello' }], 1))
      const result = before ?? { ...(await evaluateLine(model, prompt, evaluation)), line: index + 1, model, key }
      // Appends a whole line in one write, so that lines are never interleaved.
      if (before === undefined && path !== null)
        await appendFile(path, `${JSON.stringify(result)}\n`).catch(addPathToError(path))
      results[index] = result
      if (before !== undefined) taken++
      bar.update(++done, prompts.length)
    }
  }
  try {
    const workers = await Promise.allSettled(
      Array.from({ length: options.concurrency }, () =>
        work().catch((error: unknown) => {
          // The other workers finish their current lines.
          waiting.length = 0
          throw error
        }),
      ),
    )
    const failed = workers.find((worker) => worker.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  } finally {
    bar.end()
  }
  if (taken > 0) session.out.note(`${model}: ${taken} of ${prompts.length} results were read from ${options.results}.`)
  return results
}

const evaluateLine = async (
  model: string,
  { messages, expected }: PromptLine,
  { server, similarity, options }: Evaluation,
): Promise<Omit<LineResult, 'line' | 'model' | 'key'>> => {
  const response = await server.chat(model, messages, options.maxTokens)
  const output = 'text' in response ? response.text : null
  const isMeasured = options.metrics.includes('exact_match') && expected !== null
  const similar =
    similarity === null || expected === null ? null : output === null ? 0 : await similarity.of(output, expected)
  const isNumber = similar === null || typeof similar === 'number'
  return {
    output,
    error: 'refused' in response ? response.refused : null,
    latency_ms: Number(response.milliseconds.toFixed(3)),
    similarity: isNumber ? similar : null,
    similarity_error: isNumber ? null : similar.refused,
    exact_match: isMeasured ? output !== null && isExactMatch(output, expected) : null,
  }
}

interface Report {
  readonly server: ModelServer
  readonly similarity: Similarity | null
  readonly summaries: readonly Summary[]
  readonly comparisons: readonly Comparison[]
  readonly threshold: number
  readonly thresholdMetric: 'similarity' | 'exact_match' | null
  readonly passed: boolean
}

const jsonOf = ({ server, similarity, summaries, comparisons, threshold, thresholdMetric, passed }: Report) => ({
  api_base: server.url,
  similarity_method: similarity?.method ?? null,
  embedding_model: similarity?.model ?? null,
  threshold,
  threshold_metric: thresholdMetric,
  passed,
  models: summaries.map(({ model, lines, refused, similarity: similar, exactMatch, latencyMs, errors }) => ({
    model,
    lines,
    refused,
    similarity: similar,
    exact_match: exactMatch,
    latency_ms: latencyMs,
    errors,
  })),
  comparison: comparisons.map(({ metric, difference, interval, test, pValue }) => ({
    metric,
    difference,
    interval,
    test,
    p_value: pValue,
  })),
})

const print = (report: Report, { out }: Session): void => {
  const { similarity, summaries, comparisons, threshold, thresholdMetric, passed } = report
  const number = (value: number): string => value.toFixed(3)
  const mean = (value: Summary['similarity']): string | null =>
    value && `${number(value.mean)} [${number(value.interval.lower)}, ${number(value.interval.upper)}]`
  const header = similarity === null ? 'SIMILARITY' : `SIMILARITY (${similarity.method})`
  out.table(
    ['MODEL', 'LINES', 'REFUSED', header, 'EXACT MATCH', 'P50', 'P95'],
    summaries.map(({ model, lines, refused, similarity: similar, exactMatch, latencyMs }) => [
      model,
      String(lines),
      String(refused),
      mean(similar),
      mean(exactMatch),
      latencyMs && `${latencyMs.p50.toFixed(0)} ms`,
      latencyMs && `${latencyMs.p95.toFixed(0)} ms`,
    ]),
  )
  for (const { model, lines, errors } of summaries) {
    const [first] = errors
    if (first === undefined) continue
    const count = `${errors.length} of ${lines} lines`
    out.note(`${model}: ${count} have an error. The first one is line ${first.line}: ${first.error}.`)
  }
  const [one, other] = summaries.map(({ model }) => model)
  for (const { metric, difference, interval, test, pValue } of comparisons)
    out.line(
      `${one} minus ${other}, ${metric}: ${number(difference)} [${number(interval.lower)}, ${number(interval.upper)}], p = ${number(pValue)} (${test})`,
    )
  if (thresholdMetric === null) return
  const [{ similarity: similar, exactMatch }] = summaries as [Summary, ...Summary[]]
  const value = (similar ?? exactMatch)!.mean
  out.line(
    passed
      ? `Passed: ${one}'s mean ${thresholdMetric} is at least ${threshold}.`
      : `Failed: ${one}'s mean ${thresholdMetric} of ${valueBelow(value, threshold)} is below ${threshold}.`,
  )
}
