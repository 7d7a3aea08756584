import { Type } from 'typebox'
import { Body, OneOf } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'
import { Credential } from './passkeys.schema.ts'
import { PASSWORD_LENGTH } from './passwords.service.ts'

const Code = Type.String({ minLength: 6, maxLength: 12, description: 'The 6 digits that the authenticator app shows' })

export const SignInStep = Body('SignInStep', 'A sign-in that waits for a second factor', examples.signInStep, {
  next: OneOf(['second_factor']),
  factors: Type.Array(OneOf(['passkey', 'totp', 'recovery_code']), {
    description: 'Any one of these completes the sign-in',
  }),
  expires_in: Type.Integer({ description: 'Seconds' }),
})
export const SecondFactor = Body('SecondFactor', 'The second factor: one of these', examples.secondFactor, {
  code: Type.Optional(Code),
  recovery_code: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Each code works once' })),
})
export const ProviderSignIn = Body('ProviderSignIn', 'A sign-in with the identity provider', examples.providerSignIn, {
  org_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Required when you belong to several organizations' }),
  ),
})
export const ProviderAddress = Body('ProviderAddress', 'Where to send the browser', examples.providerAddress, {
  redirect_to: Type.String({ description: 'Address at the identity provider' }),
})
export const ProviderCallback = Body(
  'ProviderCallback',
  'The response of the identity provider',
  examples.providerAnswer,
  {
    query: Type.String({
      minLength: 1,
      maxLength: 8192,
      description: 'Query string of the callback address, without the question mark',
    }),
  },
)
export const Confirmation = Body('Confirmation', 'Proof of identity: a password or a passkey', examples.confirmation, {
  password: Type.Optional(Type.String({ minLength: 1, maxLength: PASSWORD_LENGTH.max })),
  credential: Type.Optional(Credential),
})
