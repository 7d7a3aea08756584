/**
 * Which updates are bare float32 vectors. Those from before were all taken for vectors where they were nothing else, so
 * that rounds in flight end as they would have, and receipts give the same bytes.
 */
export const rawVectors = {
  name: '0009-raw-vectors',
  statements: ['alter table updates add column raw_vector boolean not null default true'],
} as const
