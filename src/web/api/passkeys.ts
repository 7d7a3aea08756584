import { type PublicKeyCredentialRequestOptionsJSON, startAuthentication } from '@simplewebauthn/browser'
import { unwrap } from '../../client/client.ts'
import { api } from './client.ts'

/** Replaces errors in which the browser does not say what happened, so that no page learns which passkeys exist. */
export const explainPasskeyError = (error: unknown): never => {
  const { name } = error as Error
  if (name === 'NotAllowedError') {
    throw new Error('No passkey was used: you canceled, it took too long, or there is no passkey for this service.')
  }
  if (name === 'InvalidStateError') throw new Error('Your account already has a passkey from this authenticator.')
  throw error
}

/** Returns the response of the chosen passkey. @throws ApiError if passkeys are not available */
export const askPasskey = async (): Promise<Record<string, unknown>> => {
  const { public_key } = await unwrap(await api.POST('/api/v1/session/passkey/options'))
  const optionsJSON = public_key as unknown as PublicKeyCredentialRequestOptionsJSON
  return { ...(await startAuthentication({ optionsJSON }).catch(explainPasskeyError)) }
}
