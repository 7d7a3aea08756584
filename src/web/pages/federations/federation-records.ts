import type { AnswerOf } from '../../api/use-api.ts'

export type Federation = AnswerOf<'/api/v1/federations/{federation_id}'>
export type Member = AnswerOf<'/api/v1/federations/{federation_id}/members'>['members'][number]
export type SharedModel = AnswerOf<'/api/v1/federations/{federation_id}/models'>['models'][number]
export type Budget = AnswerOf<'/api/v1/federations/{federation_id}/privacy'>
export type Spending = AnswerOf<'/api/v1/federations/{federation_id}/privacy/history'>['history'][number]
export type Query = AnswerOf<'/api/v1/federations/{federation_id}/analytics/queries'>['queries'][number]

/** The live stream does not include other organizations' changes. */
export const OTHERS = { everyMs: 5000 } as const
