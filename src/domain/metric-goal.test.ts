import { describe, expect, it } from 'vitest'
import { goalOf } from './metric-goal.ts'

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const MINIMIZED = [
  'loss',
  'losses',
  'error',
  'errors',
  'err',
  'cost',
  'perplexity',
  'entropy',
  'cross_entropy',
  'divergence',
  'kl',
  'mse',
  'rmse',
  'mae',
  'mape',
  'smape',
  'rmsle',
  'nll',
  'brier',
  'brier_score',
  'logloss',
  'log_loss',
  'latency',
  'duration',
  'time',
  'seconds',
  'ms',
  'wer',
  'cer',
  'fid',
  'eer',
]

describe('the direction of a metric', () => {
  it.each(MINIMIZED)('minimizes %s, with a prefix or a suffix, in any casing', (name) => {
    const forms = ['val', 'train', 'test', 'eval'].flatMap((split) => [`${split}_${name}`, `${name}_${split}`])
    for (const form of [name, ...forms]) {
      for (const written of [
        form,
        camel(form),
        form.toUpperCase(),
        form.replaceAll('_', '-'),
        form.replaceAll('_', '/'),
      ])
        expect([written, goalOf(written)]).toEqual([written, 'minimize'])
    }
  })

  it.each([
    'valLoss',
    'CrossEntropyLoss',
    'KLDivergence',
    'valRMSE',
    'mae@5',
    'error@0.7',
    'mlogloss',
    'valloss',
    'bceloss',
    'val_huberloss',
    'crossentropyloss',
    'totalerror',
    'meansquarederror',
    'pseudoperplexity',
    'trainerror',
    'loss1',
    'FID50k',
    'p95_latency_ms',
    'time_to_accuracy',
    'seconds_per_step',
    'number_of_errors',
    'false_positive_rate',
    'negative_log_likelihood',
    'out_of_domain_loss',
    'per_class_error',
    'accuracy_loss',
    'crash_rate',
    'crashesPerHour',
    'failed_requests',
    'timeouts',
    'dropped_frames',
    'peak_memory_mb',
    'hallucination_rate',
  ])('minimizes %s', (name) => expect(goalOf(name)).toBe('minimize'))

  it.each([
    'accuracy',
    'valAccuracy',
    'f1',
    'mAP@.5:.95',
    'mean_iou',
    'recall',
    'hingelossy',
    'sometimes',
    'timestamps_accuracy',
    'costume',
    'items',
    'klass',
    'error_detection_accuracy',
    'recall_at_low_error',
    'accuracy_over_time',
    'tokens_per_second',
    'tokensPerSec',
    'ms_ssim',
    'neg_mean_squared_error',
    'log_likelihood',
    'negative_recall',
    'loss_reduction',
    'crash_free_rate',
    'free_memory_mb',
    'memory_free',
    'x',
    '@',
  ])('maximizes %s', (name) => expect(goalOf(name)).toBe('maximize'))
})
