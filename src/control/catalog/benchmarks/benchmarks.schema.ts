import { Type } from 'typebox'
import { MAX_REPORTED } from '../../../domain/reported-number.ts'
import { Body, Envelope, Nullable, OneOf, Page, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../catalog.examples.ts'

const Engine = OneOf(['llama.cpp', 'onnxruntime', 'mlx-lm', 'mlc-llm', 'mnn', 'vllm', 'openai'], {
  title: 'Engine',
  description: 'An inference engine',
})
const Amount = Type.Number({ minimum: 0, maximum: MAX_REPORTED })
const Whole = (minimum: 0 | 1, description?: string) =>
  Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER, ...(description !== undefined && { description }) })
const Word = (description: string) => Type.String({ minLength: 1, maxLength: 100, description })

const Report = {
  svc_version: Word('Version of svc that ran the benchmark'),
  os: Word('Such as linux'),
  arch: Word('Such as arm64'),
  cpu_model: Word('The name that the processor reports'),
  cpu_cores: Whole(1),
  memory_gb: Whole(0, 'Memory of the machine'),
  engine: Engine,
  model_architecture: Nullable(Word('Such as llama')),
  model_parameters: Nullable(Whole(0)),
  model_quantization: Nullable(Word('Such as q4_0')),
  model_megabytes: Whole(0),
  iterations: Whole(1),
  max_tokens: Whole(1),
  first_token_ms_p50: Amount,
  first_token_ms_p90: Amount,
  first_token_ms_p99: Amount,
  tokens_per_second_p50: Amount,
  tokens_per_second_p90: Type.Number({ ...Amount, description: 'At least this fast in 90% of the runs' }),
  tokens_per_second_p99: Amount,
  total_ms_p50: Amount,
  total_ms_p90: Amount,
  total_ms_p99: Amount,
  memory_megabytes: Whole(0, 'Memory of the loaded model'),
}

/** Refuses other fields instead of ignoring them: nothing may be sent that was not announced. */
export const ShareBenchmarkBody = Object.assign(
  Body('NewBenchmark', 'A benchmark result to share', examples.newBenchmark, Report),
  { additionalProperties: false },
)

export const Benchmark = Body('Benchmark', 'A shared benchmark result', examples.benchmark, {
  id: Uuid,
  ...Report,
  reported_on: Type.String({ format: 'date', description: 'The day of the report, in UTC' }),
})

export const ListBenchmarksQuery = Type.Object({
  engine: Type.Optional(Engine),
  ...Page({ max: 100, default: 20 }),
})

export const BenchmarkList = Body('BenchmarkList', 'A page of benchmark results', examples.benchmarkList, {
  benchmarks: Type.Array(Benchmark),
  ...Envelope,
})
