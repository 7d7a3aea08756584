import { Type } from 'typebox'
import { ROLES } from '../../../domain/roles.ts'
import { Body, Nullable, OneOf, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'
import { PASSWORD_LENGTH } from './passwords.service.ts'

export const Account = Body('Account', 'The signed-in person, and their sign-in methods', examples.account, {
  id: Uuid,
  org_id: Type.String(),
  email: Type.String(),
  name: Nullable(Type.String()),
  role: OneOf(ROLES),
  password: Type.Boolean({ description: 'Whether the account has a password' }),
  identity_provider: Type.Boolean({ description: 'Whether the account has signed in with the identity provider' }),
  totp: Type.Boolean({ description: 'Whether an authenticator app is set up' }),
  passkeys: Type.Integer(),
  recovery_codes_left: Type.Integer(),
  must_confirm: Type.Boolean({
    description: 'Whether adding or removing a sign-in method requires POST /session/confirm first',
  }),
})
export const NewPassword = Body('NewPassword', 'A new password', examples.newPassword, {
  old_password: Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH.max }),
  new_password: Type.String({
    maxLength: PASSWORD_LENGTH.max,
    description: `At least ${PASSWORD_LENGTH.min} characters`,
  }),
  revoke_keys: Type.Optional(Type.Boolean({ description: 'Also revoke your personal keys; default false' })),
})
export const TotpSecret = Body('TotpSecret', 'The secret for setting up an authenticator app', examples.totpSecret, {
  secret: Type.String({ description: 'Base32; shown only once' }),
  uri: Type.String({ description: 'The same secret as a URI for a QR code' }),
})
export const TotpCode = Body('TotpCode', 'A code of an authenticator app', examples.secondFactor, {
  code: Type.String({ minLength: 6, maxLength: 12, description: 'The 6 digits that the app shows' }),
})
export const RecoveryCodes = Body('RecoveryCodes', 'Recovery codes, shown only once', examples.recoveryCodes, {
  recovery_codes: Type.Array(Type.String(), { description: 'Each code works once; empty if you already have some' }),
})
export const PersonParams = Type.Object({ member_id: Type.String() })
