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
  code_verifier: Matching('^[A-Za-z0-9._~-]{43,128}$', '43 to 128 letters, digits, and ._~-'),
})

export const Token = Body('LoginToken', 'The API key of a sign-in', examples.loginToken, {
  api_key: Type.String(),
  org_id: Type.Union([Type.String(), Type.Null()]),
  expires_at: Nullable(Timestamp),
})

const userCode = Type.String({
  minLength: 8,
  maxLength: 20,
  description: 'As shown, with or without the hyphen',
})

export const StartDeviceLoginBody = Body('NewDeviceLogin', 'A program that asks to sign in', examples.newDeviceLogin, {
  // The approver reads this: no character in it may reverse or hide text.
  client_name: Matching('^[ -~]+$', '1 to 100 printable ASCII characters', {
    minLength: 1,
    maxLength: 100,
    description: 'The program and its machine, shown to the approver',
  }),
})

export const DeviceLoginStart = Body(
  'DeviceLoginStart',
  'The codes of a sign-in (RFC 8628, section 3.2)',
  examples.deviceLoginStart,
  {
    device_code: Type.String({ description: 'The code that the program polls with; keep it secret' }),
    user_code: Type.String({ description: 'The code that the person enters' }),
    verification_uri: Type.String({ description: 'The page on which to enter it' }),
    verification_uri_complete: Type.String({ description: 'The same page with the code filled in, for a QR code' }),
    expires_in: Type.Integer({ description: 'Seconds' }),
    interval: Type.Integer({ description: "Minimum seconds between the program's requests" }),
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
  'Whether to approve the sign-in',
  examples.deviceLoginDecision,
  { user_code: userCode, approve: Type.Boolean() },
)

export const DeviceLogin = Body('DeviceLogin', 'A program that asks to sign in', examples.deviceLogin, {
  client_name: Type.String({ description: 'Name that the program gave' }),
  address: Type.String({ description: 'Address of the requester' }),
  created_at: Timestamp,
  expires_at: Timestamp,
  decision: Nullable(OneOf(['approved', 'denied'])),
})
