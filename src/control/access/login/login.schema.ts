import { Type } from 'typebox'
import { Body, Matching, Nullable, OneOf, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

/** RFC 7636 (PKCE, method S256) over a loopback callback (RFC 8252): the key itself never travels in a URL. */
export const AuthorizeBody = Body(
  'LoginRequest',
  'A command-line sign-in that awaits approval',
  examples.loginRequest,
  {
    code_challenge: Matching('^[A-Za-z0-9_-]{43}$', 'the SHA-256 of the verifier in base64url, 43 characters'),
    redirect_uri: Type.String({ maxLength: 200 }),
    state: Type.String({ minLength: 16, maxLength: 200 }),
  },
)

export const Authorization = Body('LoginApproval', 'The address to send the browser to', examples.loginApproval, {
  redirect_to: Type.String(),
})

export const TokenBody = Body('LoginCode', 'The code of an approved sign-in', examples.loginCode, {
  code: Type.String({ minLength: 1, maxLength: 200 }),
  code_verifier: Matching('^[A-Za-z0-9._~-]{43,128}$', '43 to 128 letters, digits and ._~-'),
})

export const Token = Body('LoginToken', 'The API key of a sign-in', examples.loginToken, {
  api_key: Type.String(),
  org_id: Type.Union([Type.String(), Type.Null()]),
  expires_at: Nullable(Timestamp),
})

const userCode = Type.String({
  minLength: 8,
  maxLength: 20,
  description: 'As it was shown, with or without the hyphen',
})

export const StartDeviceLoginBody = Body(
  'NewDeviceLogin',
  'A program that asks to be signed in',
  examples.newDeviceLogin,
  {
    // What the approver reads: nothing in it may turn the text around, or hide.
    client_name: Matching('^[ -~]+$', '1 to 100 printable ASCII characters', {
      minLength: 1,
      maxLength: 100,
      description: 'The program and its machine, shown to who approves',
    }),
  },
)

export const DeviceLoginStart = Body(
  'DeviceLoginStart',
  'The codes of a sign-in (RFC 8628, section 3.2)',
  examples.deviceLoginStart,
  {
    device_code: Type.String({ description: 'What the program polls with; shown to nobody' }),
    user_code: Type.String({ description: 'What the person types' }),
    verification_uri: Type.String({ description: 'Where they type it' }),
    verification_uri_complete: Type.String({ description: 'The same with the code in it, for a QR code' }),
    expires_in: Type.Integer({ description: 'Seconds' }),
    interval: Type.Integer({ description: 'Seconds between two requests of the program' }),
  },
)

export const DeviceCodeBody = Body('DeviceCode', 'The code that a program polls with', examples.deviceCode, {
  device_code: Type.String({ minLength: 1, maxLength: 200 }),
})

export const UserCodeBody = Body('UserCode', 'The code that a program shows', examples.userCode, {
  user_code: userCode,
})

export const DecideDeviceLoginBody = Body(
  'DeviceLoginDecision',
  'Whether the program is signed in',
  examples.deviceLoginDecision,
  { user_code: userCode, approve: Type.Boolean() },
)

export const DeviceLogin = Body('DeviceLogin', 'A program that asks to be signed in', examples.deviceLogin, {
  client_name: Type.String({ description: 'What it says it is' }),
  address: Type.String({ description: 'The address that asked' }),
  created_at: Timestamp,
  expires_at: Timestamp,
  decision: Nullable(OneOf(['approved', 'denied'])),
})
