import { Type } from 'typebox'
import { ROLES } from '../../../domain/roles.ts'
import { Body, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'

export const OpenSessionBody = Body(
  'OpenSession',
  'The key, the code of a link, or the email address and password to sign in with',
  { api_key: 'sk_live_…' },
  {
    api_key: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Not needed under open enrollment' }),
    ),
    code: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Code of a link from POST /session/links; instead of a key',
      }),
    ),
    email: Type.Optional(
      Type.String({ minLength: 1, maxLength: 254, description: 'Email address; together with the password' }),
    ),
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Of that person' })),
    org_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Required when the email address has accounts with this password in several organizations',
      }),
    ),
  },
)

export const SignInLink = Body(
  'SignInLink',
  'A link that signs in a browser, once',
  { path: '/#sign-in=Zb2mB4Vt0cK8x1yq5o3n7p9rUeWdHgJfLaSiTkMvXzY', expires_at: '2026-01-31T12:01:00Z' },
  {
    path: Type.String({
      description: "Path to append to the dashboard's address; the code is in the fragment, which browsers do not send",
    }),
    expires_at: Timestamp,
  },
)

const SignedInPerson = Part('SignedInPerson', 'The person who is signed in', {
  id: Uuid,
  email: Type.String(),
  name: Nullable(Type.String()),
  role: OneOf(ROLES),
  mfa: Type.Boolean({ description: 'Whether the sign-in used two factors' }),
  restriction: Nullable(
    OneOf(['enroll', 'confirm'], {
      description:
        'What the person must do first: set up a second factor, or confirm their identity after a period of inactivity',
    }),
  ),
})

export const Session = Body(
  'Session',
  'Who is signed in, and the settings that the dashboard needs to start',
  {
    signed_in: true,
    enrollment: 'token',
    version: '1.1.0',
    key_name: 'my dashboard',
    org_id: 'acme',
    scopes: ['devices:read', 'training:read'],
    inference: true,
    identity_provider: null,
    person: null,
  },
  {
    signed_in: Type.Boolean(),
    enrollment: OneOf(['open', 'token'], { description: 'open: no key is required' }),
    version: Type.String({ description: 'Version of the service' }),
    key_name: Nullable(Type.String({ description: 'Name of the key that the session acts with' })),
    org_id: Nullable(Type.String({ description: 'Organization of that key; null: every organization' })),
    scopes: Type.Array(Type.String()),
    inference: Type.Boolean({ description: 'Whether an inference server is configured (SERVICE_INFERENCE_URL)' }),
    identity_provider: Nullable(Type.String({ description: 'Host of the identity provider (SERVICE_OIDC_ISSUER)' })),
    person: Nullable(SignedInPerson),
  },
)

const ListedSession = Part('ListedSession', 'A session of a browser', {
  id: Uuid,
  key_id: Nullable(Type.String({ format: 'uuid', description: 'The key that opened the session' })),
  person_id: Nullable(Type.String({ format: 'uuid', description: 'The person who signed in' })),
  email: Nullable(Type.String({ description: 'Of that person' })),
  mfa: Type.Boolean({ description: 'Whether the sign-in used two factors' }),
  browser: Type.String({ description: 'User agent reported by the browser' }),
  created_at: Timestamp,
  last_used_at: Timestamp,
  expires_at: Timestamp,
  current: Type.Boolean({ description: 'Whether this is the session of the request' }),
})

export const SessionList = Body(
  'SessionList',
  'The sessions that have not ended',
  {
    sessions: [
      {
        id: '0b6c4f0e-2c1d-4b57-9a55-0c9a6f0f3b11',
        key_id: '5f0d3d7e-3a44-4f9b-8a0c-6d1f5b0a9c22',
        person_id: null,
        email: null,
        mfa: false,
        browser: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
        created_at: '2026-01-31T12:00:00Z',
        last_used_at: '2026-01-31T12:15:00Z',
        expires_at: '2026-02-07T12:15:00Z',
        current: true,
      },
    ],
  },
  { sessions: Type.Array(ListedSession) },
)

export const SessionParams = Type.Object({ session_id: Type.String() })
