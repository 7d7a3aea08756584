import type { ResponseOf } from '../../api/use-api.ts'

export type Job = ResponseOf<'/api/v1/training/jobs'>['jobs'][number]
export type JobDetail = ResponseOf<'/api/v1/training/jobs/{job_id}'>
export type Round = ResponseOf<'/api/v1/training/rounds'>['rounds'][number]
/** A round with its place in its job, from 1; `round_number` counts all rounds of the organization. */
export type JobRound = Round & { readonly jobRound: number }
export type Participant = ResponseOf<'/api/v1/training/rounds/{round_id}/participants'>['participants'][number]
export type Update = ResponseOf<'/api/v1/training/rounds/{round_id}/updates'>['updates'][number]
