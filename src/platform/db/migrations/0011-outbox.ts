/** Events, for those who follow them; kept for a day. */
export const outbox = {
  name: '0011-outbox',
  statements: [
    // Numbers are assigned before their transactions commit, so rows become visible out of order. Readers order by transaction
    // and number, up to the oldest open transaction.
    `create table events_outbox (
      id bigint generated always as identity primary key,
      tx xid8 not null default pg_current_xact_id(),
      org_id text,
      type text not null,
      subject_kind text not null,
      subject_id text,
      payload jsonb not null,
      at timestamptz not null
    )`,
    'create index events_outbox_order on events_outbox (tx, id)',
  ],
} as const
