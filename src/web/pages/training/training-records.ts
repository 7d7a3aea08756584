import type { ResponseOf } from '../../api/use-api.ts'

export type Job = ResponseOf<'/api/v1/training/jobs'>['jobs'][number]
export type JobDetail = ResponseOf<'/api/v1/training/jobs/{job_id}'>
export type Round = ResponseOf<'/api/v1/training/rounds'>['rounds'][number]
export type Participant = ResponseOf<'/api/v1/training/rounds/{round_id}/participants'>['participants'][number]
export type Update = ResponseOf<'/api/v1/training/rounds/{round_id}/updates'>['updates'][number]
