/** Changes that wait for a second admin. */
export const approvals = {
  name: '0034-approvals',
  statements: [
    `alter table org_settings add column require_approval boolean not null default false`,

    `create table approvals (
      id uuid primary key,
      ordinal bigint generated always as identity,
      org_id text not null,
      kind text not null,
      -- What it changes: one request at a time waits for each.
      subject text not null,
      title text not null,
      payload jsonb not null,
      -- Whoever requested it, as the caller that they were.
      requester jsonb not null,
      -- The persons behind the requester: themselves, and whoever made the key. None of them approves it.
      people uuid[] not null,
      status text not null check (status in ('pending', 'approved', 'rejected', 'cancelled', 'expired', 'failed')),
      requested_at timestamptz not null,
      expires_at timestamptz not null,
      decided_at timestamptz,
      decided_by text,
      reason text
    )`,
    `create unique index approvals_pending on approvals (kind, subject) where status = 'pending'`,
    `create index approvals_due on approvals (expires_at) where status = 'pending'`,
    `create index approvals_by_org on approvals (org_id, ordinal)`,
  ],
} as const
