import type { ResponseOf } from '../../api/use-api.ts'

export type ListedExperiment = ResponseOf<'/api/v1/experiments'>['experiments'][number]
export type Experiment = ResponseOf<'/api/v1/experiments/{experiment_id}'>
export type Analytics = ResponseOf<'/api/v1/experiments/{experiment_id}/analytics'>
export type Comparison = Analytics['comparisons'][number]
export type Estimates = ResponseOf<'/api/v1/experiments/{experiment_id}/estimates'>
