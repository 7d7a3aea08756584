/**
 * Which updates are raw float32 vectors. Earlier updates count as vectors unless recognized as another format, so that rounds
 * in progress end as they would have, and receipts produce the same bytes.
 */
export const rawVectors = {
  name: '0009-raw-vectors',
  statements: ['alter table updates add column raw_vector boolean not null default true'],
} as const
