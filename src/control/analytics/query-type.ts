export const QUERY_TYPES = ['descriptive', 't-test', 'anova', 'chi-square'] as const
export type QueryType = (typeof QUERY_TYPES)[number]
