import type { AnswerOf } from '../../api/use-api.ts'

export type Job = AnswerOf<'/api/v1/training/jobs'>['jobs'][number]
export type JobDetail = AnswerOf<'/api/v1/training/jobs/{job_id}'>
export type Round = AnswerOf<'/api/v1/training/rounds'>['rounds'][number]
export type Participant = AnswerOf<'/api/v1/training/rounds/{round_id}/participants'>['participants'][number]
export type Update = AnswerOf<'/api/v1/training/rounds/{round_id}/updates'>['updates'][number]
