import { Type } from 'typebox'
import { Body } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

/** RFC 7636 (PKCE, method S256) over a loopback callback (RFC 8252): the key itself never travels in a URL. */
export const AuthorizeBody = Body(
  'LoginRequest',
  'A command-line sign-in that awaits approval',
  examples.loginRequest,
  {
    code_challenge: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
    redirect_uri: Type.String({ maxLength: 200 }),
    state: Type.String({ minLength: 16, maxLength: 200 }),
  },
)

export const Authorization = Body('LoginApproval', 'The address to send the browser to', examples.loginApproval, {
  redirect_to: Type.String(),
})

export const TokenBody = Body('LoginCode', 'The code of an approved sign-in', examples.loginCode, {
  code: Type.String({ minLength: 1, maxLength: 200 }),
  code_verifier: Type.String({ pattern: '^[A-Za-z0-9._~-]{43,128}$' }),
})

export const Token = Body('LoginToken', 'The API key of a sign-in', examples.loginToken, {
  api_key: Type.String(),
  org_id: Type.Union([Type.String(), Type.Null()]),
})
