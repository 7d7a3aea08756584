/** Browser sessions, each of which takes the place of a key. */
export const sessions = {
  name: '0013-sessions',
  statements: [
    `create table sessions (
      id uuid primary key,
      -- Of its token: whoever reads this table can use none of them.
      hash text not null unique,
      -- Null: opened without a key, under open enrollment; under another it does not count.
      key_id uuid references keys (id) on delete cascade,
      browser text not null,
      created_at timestamptz not null,
      used_at timestamptz not null,
      expires_at timestamptz not null
    )`,
    `create index sessions_by_key on sessions (key_id)`,
    `create index sessions_by_end on sessions (expires_at)`,
  ],
} as const
