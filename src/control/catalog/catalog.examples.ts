import { hashes, ids, times } from '../example-ids.ts'

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
  model_path: 'sha256/9b/9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de',
  model_size_bytes: 4_812_800,
  model_hash: hashes.model,
  accuracy: null,
  loss: null,
  created_at: times.created,
}
const version = {
  version: 2,
  version_label: '2.0.0',
  format: 'pytorch',
  model_size_bytes: 4_812_800,
  model_hash: hashes.model,
  uploaded_at: times.started,
  metadata: { accuracy: 0.91, dataset: '2026-02' },
}
const formats = [
  { format: 'onnx', state: 'ready', reason: null, model_size_bytes: 4_801_024, model_hash: hashes.update },
  { format: 'tflite', state: 'pending', reason: null, model_size_bytes: null, model_hash: null },
]
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

const trainedBy = {
  job_id: ids.job,
  round_id: ids.round,
  round_number: 7,
  metrics: { loss: 3.42, accuracy: 0.31 },
  receipt_path: `/api/v1/training/rounds/${ids.round}/receipt`,
}

export const examples = {
  damagedFileList: {
    files: [
      {
        sha256: '9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de',
        size: 4_812_800,
        damage: 'Its bytes have changed.',
        damaged_at: times.reported,
        versions: [{ model_id: ids.model, version: 2 }],
      },
    ],
    stored_files: 1284,
    oldest_check_at: times.created,
  },
  newModel,
  model,
  modelDetail: {
    ...model,
    versions: [{ ...version, formats, aliases: ['production'], trained_by: trainedBy }],
    delivered_versions: [version.version],
  },
  versionLineage: {
    ...version,
    formats,
    aliases: ['production'],
    trained_by: trainedBy,
    model_id: ids.model,
    model_name: 'next-word',
    description: '',
    training: {
      job_id: ids.job,
      job_name: 'next-word-march',
      round_id: ids.round,
      round_number: 7,
      strategy: 'fedavg',
      strategy_options: {},
      selected_devices: 20,
      completed_devices: 18,
      failed_devices: 2,
      trained_from: { model_id: ids.aggregatedModel, version: 1 },
      privacy_spent: null,
      receipt_path: `/api/v1/training/rounds/${ids.round}/receipt`,
      ended_at: times.ended,
    },
    runs: {
      devices: { active: 118, failed: 2 },
      uses: [
        { kind: 'rollout', id: ids.rollout, name: null, status: 'active', percentage: 30, created_at: times.later },
      ],
    },
  },
  modelList: { models: [model], total: 1, limit: 20, offset: 0 },
  newVersion: {
    file: '<the bytes of next-word.pt>',
    format: 'pytorch',
    version_label: '2.0.0',
    formats: 'onnx,tflite',
    metadata: { accuracy: 0.91, dataset: '2026-02' },
  },
  modelVersion: {
    model_id: ids.model,
    ...version,
    model_path: model.model_path,
    description: 'Trained on three more months of text',
    warnings: [],
    formats,
  },
  modelChanges: { description: 'Next word, for keyboards' },
  versionChanges: { metadata: { accuracy: 0.92, dataset: null } },
  newBenchmark,
  benchmark,
  benchmarkList: { benchmarks: [benchmark], total: 1, limit: 20, offset: 0 },
} as const
