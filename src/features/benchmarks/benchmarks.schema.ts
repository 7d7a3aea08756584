import { Type } from 'typebox'
import { Envelope, Nullable, OneOf, Page, Uuid } from '../wire.schema.ts'

const Engine = OneOf(['llama.cpp', 'onnxruntime', 'mlx-lm', 'mlc-llm', 'mnn'])
const Amount = Type.Number({ minimum: 0 })
const Word = (description: string) => Type.String({ minLength: 1, maxLength: 100, description })

const Report = {
  svc_version: Word('of the program that measured'),
  os: Word('such as linux'),
  arch: Word('such as arm64'),
  cpu_model: Word('as the processor calls itself'),
  cpu_cores: Type.Integer({ minimum: 1 }),
  memory_gb: Type.Integer({ minimum: 0, description: 'of the machine' }),
  engine: Engine,
  model_architecture: Nullable(Word('such as llama')),
  model_parameters: Nullable(Type.Integer({ minimum: 0 })),
  model_quantization: Nullable(Word('such as q4_0')),
  model_megabytes: Type.Integer({ minimum: 0 }),
  iterations: Type.Integer({ minimum: 1 }),
  max_tokens: Type.Integer({ minimum: 1 }),
  first_token_ms_p50: Amount,
  first_token_ms_p90: Amount,
  first_token_ms_p99: Amount,
  tokens_per_second_p50: Amount,
  tokens_per_second_p90: Type.Number({ minimum: 0, description: 'reached by 90 % of the runs' }),
  tokens_per_second_p99: Amount,
  total_ms_p50: Amount,
  total_ms_p90: Amount,
  total_ms_p99: Amount,
  memory_megabytes: Type.Integer({ minimum: 0, description: 'that the loaded model takes' }),
}

/** Other fields are refused rather than ignored: nothing that was not announced is to be sent. */
export const ShareBenchmarkBody = Type.Object(Report, { additionalProperties: false })

export const Benchmark = Type.Object({
  id: Uuid,
  ...Report,
  reported_on: Type.String({ format: 'date', description: 'the day, in UTC' }),
})

export const ListBenchmarksQuery = Type.Object({
  engine: Type.Optional(Engine),
  ...Page({ max: 100, default: 20 }),
})

export const BenchmarkList = Type.Object({ benchmarks: Type.Array(Benchmark), ...Envelope })
