/** The audit log: append-only entries, the head of each organization's chain, and the names that may be erased. */
export const audit = {
  name: '0028-audit',
  statements: [
    `create table audit_entries (
      -- For pages; not part of the chain.
      id bigint generated always as identity,
      -- Empty: of no organization. There are no foreign keys: the table can be partitioned by time.
      org_id text not null,
      seq bigint not null,
      at timestamptz not null,
      actor_kind text not null,
      actor_id text,
      -- The key or session that the actor used.
      credential_id text,
      -- A reference: the address itself is in audit_names.
      address_id text,
      action text not null,
      object_kind text,
      object_id text,
      -- JSON as it was hashed: jsonb would order it anew.
      changes text not null,
      result text not null check (result in ('ok', 'refused', 'failed')),
      status integer,
      request_id text not null,
      prev_hash text not null,
      hash text not null
    )`,
    `create unique index audit_entries_by_seq on audit_entries (org_id, seq)`,
    `create index audit_entries_by_id on audit_entries (id)`,
    `create index audit_entries_by_object on audit_entries (org_id, object_id, seq)`,
    `create index audit_entries_by_actor on audit_entries (org_id, actor_id, seq)`,
    `create index audit_entries_by_time on audit_entries (at)`,

    `create table audit_heads (
      org_id text primary key,
      seq bigint not null,
      hash text not null,
      -- The last entry that was deleted for its age, signed: the chain goes on from there.
      pruned_seq bigint not null default 0,
      pruned_hash text not null default '',
      pruned_signature text
    )`,

    `create table audit_names (
      org_id text not null,
      kind text not null,
      id text not null,
      name text not null,
      primary key (org_id, kind, id)
    )`,
  ],
} as const
