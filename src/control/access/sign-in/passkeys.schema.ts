import { Type } from 'typebox'
import { Body, FreeObject, FreeRequestObject, Line, Nullable, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const Name = Line(100, 'A name to recognize it by')
const fields = {
  id: Type.String({ description: "The credential's id, base64url" }),
  name: Name,
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
}

export const Credential = FreeRequestObject("The browser's PublicKeyCredential.toJSON()")
export const Passkey = Body('Passkey', 'A passkey of the signed-in person', examples.passkey, fields)
export const PasskeyList = Body('PasskeyList', 'Passkeys, oldest first', examples.passkeyList, {
  passkeys: Type.Array(Passkey),
})
export const PasskeyOptions = Body('PasskeyOptions', 'WebAuthn options for the browser', examples.passkeyOptions, {
  public_key: FreeObject,
})
export const NewPasskey = Body('NewPasskey', 'A passkey to add', examples.newPasskey, {
  name: Name,
  credential: Credential,
})
export const AddedPasskey = Body('AddedPasskey', 'The added passkey', examples.addedPasskey, {
  ...fields,
  recovery_codes: Type.Array(Type.String(), {
    description: 'Shown only once; each code works once; empty if you already have some',
  }),
})
export const PasskeyName = Body('PasskeyName', 'The name of a passkey', examples.passkeyName, { name: Name })
export const PasskeySignIn = Body('PasskeySignIn', 'A passkey to sign in with', examples.passkeySignIn, {
  credential: Credential,
})
export const PasskeyParams = Type.Object({ passkey_id: Type.String() })
