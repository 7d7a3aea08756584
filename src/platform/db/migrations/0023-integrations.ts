/** External receivers of an organization's events and metrics, and events that one of them rejected permanently. */
export const integrations = {
  name: '0023-integrations',
  statements: [
    `create table integrations (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text,
      kind text not null check (kind in ('metrics', 'logs')),
      type text not null,
      name text not null,
      endpoint text not null,
      format text,
      -- Encrypted by a key that is not in the database.
      config text not null,
      paused boolean not null default false,
      -- Of logs: the last event that was delivered; null: none since the beginning.
      cursor_tx xid8,
      cursor_id bigint,
      next_at timestamptz not null,
      lease_until timestamptz,
      failures integer not null default 0,
      last_error text,
      last_error_at timestamptz,
      delivered_at timestamptz,
      created_at timestamptz not null
    )`,
    `create index integrations_due on integrations (next_at) where not paused`,
    `create table integration_dead_letters (
      id bigint generated always as identity primary key,
      integration_id uuid not null references integrations on delete cascade,
      event jsonb not null,
      reason text not null,
      at timestamptz not null
    )`,
    `create index integration_dead_letters_by_integration on integration_dead_letters (integration_id, id)`,
  ],
} as const
