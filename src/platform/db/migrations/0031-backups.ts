/** Backups, and when each stored file was last checked. */
export const backups = {
  name: '0031-backups',
  statements: [
    `create table backups (
      id uuid primary key,
      ordinal bigint generated always as identity,
      -- Its name in the target: that of its manifest.
      name text not null,
      target text not null,
      -- By SERVICE_BACKUP_URL, or because somebody requested it.
      scheduled boolean not null,
      status text not null check (status in ('running', 'completed', 'failed')),
      reason text,
      -- How the database is in it: a copy of the embedded one's folder, a dump of a server, or not at all.
      database text,
      files bigint,
      bytes bigint,
      copied_files bigint,
      copied_bytes bigint,
      -- Files that could not be read, and are not in it.
      unreadable_files bigint,
      verified_at timestamptz,
      -- Until then the process that makes it is taken to live.
      lease_until timestamptz,
      created_at timestamptz not null,
      ended_at timestamptz
    )`,
    `create unique index backups_running on backups ((true)) where status = 'running'`,
    `create index backups_by_age on backups (ordinal desc)`,

    `alter table blobs
      -- When its bytes were hashed the last time: when it was stored, or by the check in the background.
      add column checked_at timestamptz not null default now(),
      add column damaged_at timestamptz,
      -- What is wrong with it, in words.
      add column damage text`,
    `create index blobs_by_check on blobs (checked_at)`,
    `create index blobs_damaged on blobs (damaged_at) where damaged_at is not null`,
  ],
} as const
