import type { AnswerOf } from '../../api/use-api.ts'

export type ListedExperiment = AnswerOf<'/api/v1/experiments'>['experiments'][number]
export type Experiment = AnswerOf<'/api/v1/experiments/{experiment_id}'>
export type Analytics = AnswerOf<'/api/v1/experiments/{experiment_id}/analytics'>
export type Comparison = Analytics['comparisons'][number]
export type Estimates = AnswerOf<'/api/v1/experiments/{experiment_id}/estimates'>
