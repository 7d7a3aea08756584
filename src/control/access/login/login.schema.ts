import { Type } from 'typebox'

/** RFC 7636 (PKCE, method S256) over a loopback callback (RFC 8252): the key itself never travels in a URL. */
export const AuthorizeBody = Type.Object({
  code_challenge: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  redirect_uri: Type.String({ maxLength: 200 }),
  state: Type.String({ minLength: 16, maxLength: 200 }),
})

export const Authorization = Type.Object({ redirect_to: Type.String() })

export const TokenBody = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 200 }),
  code_verifier: Type.String({ pattern: '^[A-Za-z0-9._~-]{43,128}$' }),
})

export const Token = Type.Object({
  api_key: Type.String(),
  org_id: Type.Union([Type.String(), Type.Null()]),
})
