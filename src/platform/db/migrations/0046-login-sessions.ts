/** The session that approved a sign-in, with which it ends. */
export const loginSessions = {
  name: '0046-login-sessions',
  statements: [
    'alter table login_codes add column session_id uuid references sessions on delete cascade',
    'alter table device_logins add column session_id uuid references sessions on delete cascade',
    'create index login_codes_by_session on login_codes (session_id)',
    'create index device_logins_by_session on device_logins (session_id)',
  ],
} as const
