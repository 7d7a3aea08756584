/** Who created a key and which one it replaces; command-line sign-ins through a browser elsewhere (RFC 8628). */
export const deviceLogins = {
  name: '0027-device-logins',
  statements: [
    `alter table keys
      -- A person's or a key's id; null for keys of devices, of earlier versions, and where nobody had to say who they are.
      add column created_by text,
      add column replaces uuid references keys on delete set null`,
    `create unique index keys_by_replaced on keys (replaces) where replaces is not null`,

    `alter table login_codes
      -- The person whose session approved it.
      add column person_id uuid references people on delete cascade`,

    `create table device_logins (
      -- Of what the program polls with, and of what the person types: whoever reads this table can use neither.
      device_hash text primary key,
      user_hash text not null unique,
      client_name text not null,
      address text not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      interval_seconds integer not null,
      next_poll_at timestamptz not null,
      -- Null while it waits.
      decision text check (decision in ('approved', 'denied')),
      -- Of an approved one: what its key will hold, and by whom it was approved.
      grants text[] not null default '{}',
      org_id text,
      approved_by uuid references keys on delete cascade,
      person_id uuid references people on delete cascade
    )`,
    `create index device_logins_by_address on device_logins (address)`,
    `create index device_logins_by_end on device_logins (expires_at)`,
  ],
} as const
