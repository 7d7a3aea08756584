/** People's accounts in an organization, their sign-in methods, and the organization's rules for sign-in. */
export const people = {
  name: '0024-people',
  statements: [
    `create table people (
      id uuid primary key,
      org_id text not null,
      -- Null once they are erased; what they did keeps their id.
      email text,
      name text,
      role text not null check (role in ('admin', 'member', 'viewer')),
      -- argon2id; null where they sign in by passkey or by the identity provider only.
      password_hash text,
      -- Encrypted by a key that is not in the database; it counts from confirmed_at on.
      totp_secret text,
      totp_confirmed_at timestamptz,
      -- The last time step whose code was taken: none is taken twice.
      totp_step bigint,
      -- Who they are to the identity provider: its issuer and subject, in one text.
      oidc_identity text,
      failed_attempts integer not null default 0,
      last_failed_at timestamptz,
      created_at timestamptz not null,
      signed_in_at timestamptz,
      removed_at timestamptz
    )`,
    `create unique index people_by_email on people (org_id, lower(email)) where removed_at is null`,
    `create unique index people_by_oidc on people (org_id, oidc_identity) where removed_at is null`,

    `create table invitations (
      id uuid primary key,
      org_id text not null,
      email text not null,
      role text not null check (role in ('admin', 'member', 'viewer')),
      -- Of its token: whoever reads this table can use none of them.
      hash text not null unique,
      -- A person's or a key's id.
      invited_by text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      accepted_at timestamptz
    )`,
    `create unique index invitations_open on invitations (org_id, lower(email)) where accepted_at is null`,

    `create table recovery_codes (
      person_id uuid not null references people on delete cascade,
      hash text not null,
      used_at timestamptz,
      primary key (person_id, hash)
    )`,
    `create table passkeys (
      -- The credential's id, base64url.
      id text primary key,
      person_id uuid not null references people on delete cascade,
      name text not null,
      public_key bytea not null,
      counter bigint not null,
      transports text[] not null,
      created_at timestamptz not null,
      last_used_at timestamptz
    )`,
    `create index passkeys_by_person on passkeys (person_id)`,

    // A sign-in that is waiting for its next step: the second factor, a passkey's response, the identity provider.
    `create table sign_in_steps (
      hash text primary key,
      kind text not null,
      person_id uuid references people on delete cascade,
      data jsonb not null,
      attempts integer not null default 0,
      expires_at timestamptz not null
    )`,
    `create index sign_in_steps_by_end on sign_in_steps (expires_at)`,

    `alter table sessions
      add column person_id uuid references people on delete cascade,
      -- When they last showed who they are, and whether by two factors.
      add column authenticated_at timestamptz,
      add column mfa boolean not null default false`,
    `create index sessions_by_person on sessions (person_id) where person_id is not null`,

    `alter table keys
      -- Of a person's own key: it holds no more than their role, and ends with them.
      add column person_id uuid references people on delete cascade`,
    `create index keys_by_person on keys (person_id) where person_id is not null`,

    `create table org_settings (
      -- An organization that has no row here goes by the defaults.
      org_id text primary key,
      require_mfa text not null default 'off' check (require_mfa in ('off', 'admins', 'all')),
      session_hours integer not null default 24 check (session_hours between 1 and 8760),
      -- A session asks again who you are after so long without use; null: never.
      reauthenticate_minutes integer check (reauthenticate_minutes between 1 and 525600),
      updated_at timestamptz not null
    )`,
  ],
} as const
