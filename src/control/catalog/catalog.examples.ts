import { hashes, ids, times } from '../story.examples.ts'

const newModel = {
  name: 'next-word',
  framework: 'pytorch',
  framework_version: '2.6',
  description: 'Suggests the next word on the keyboard',
  is_baseline: true,
}
const model = {
  id: ids.model,
  org_id: 'acme',
  ...newModel,
  round_id: null,
  model_path: 'blobs/9b/9b74c9897bac770ffc029102a200c5de',
  model_size_bytes: 4_812_800,
  model_hash: hashes.model,
  accuracy: 0.31,
  loss: 3.42,
  created_at: times.created,
}
const version = {
  version: 2,
  version_label: '2.0.0',
  format: 'pytorch',
  model_size_bytes: 4_812_800,
  model_hash: hashes.model,
  uploaded_at: times.started,
}
const newBenchmark = {
  svc_version: '1.1.0',
  os: 'linux',
  arch: 'arm64',
  cpu_model: 'Neoverse-N1',
  cpu_cores: 4,
  memory_gb: 16,
  engine: 'llama.cpp',
  model_architecture: 'llama',
  model_parameters: 1_235_814_432,
  model_quantization: 'q4_0',
  model_megabytes: 738,
  iterations: 20,
  max_tokens: 128,
  first_token_ms_p50: 182,
  first_token_ms_p90: 201,
  first_token_ms_p99: 240,
  tokens_per_second_p50: 24.1,
  tokens_per_second_p90: 22.8,
  tokens_per_second_p99: 19.5,
  total_ms_p50: 5490,
  total_ms_p90: 5815,
  total_ms_p99: 6804,
  memory_megabytes: 1012,
}
const benchmark = { id: ids.benchmark, ...newBenchmark, reported_on: '2026-03-02' }

export const examples = {
  newModel,
  model,
  modelDetail: { ...model, versions: [{ ...version, aliases: ['production'], trained_by: null }] },
  modelList: { models: [model], total: 1, limit: 20, offset: 0 },
  newVersion: { file: '<the bytes of next-word.pt>', format: 'pytorch', version_label: '2.0.0' },
  modelVersion: {
    model_id: ids.model,
    ...version,
    model_path: model.model_path,
    description: 'Trained on three more months of text',
    warnings: [],
  },
  newBenchmark,
  benchmark,
  benchmarkList: { benchmarks: [benchmark], total: 1, limit: 20, offset: 0 },
} as const
