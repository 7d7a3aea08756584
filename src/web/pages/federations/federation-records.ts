import type { ResponseOf } from '../../api/use-api.ts'

export type Federation = ResponseOf<'/api/v1/federations/{federation_id}'>
export type Member = ResponseOf<'/api/v1/federations/{federation_id}/members'>['members'][number]
export type SharedModel = ResponseOf<'/api/v1/federations/{federation_id}/models'>['models'][number]
export type Budget = ResponseOf<'/api/v1/federations/{federation_id}/privacy'>
export type Spending = ResponseOf<'/api/v1/federations/{federation_id}/privacy/history'>['history'][number]
export type Query = ResponseOf<'/api/v1/federations/{federation_id}/analytics/queries'>['queries'][number]

/** The live stream does not include other organizations' changes. */
export const OTHERS = { everyMs: 5000 } as const
