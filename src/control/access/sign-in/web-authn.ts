import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON, WebAuthnCredential } from '@simplewebauthn/server'
import { conflict } from '../../../domain/errors.ts'

/** Loaded with the first passkey: with its certificates, the library is a seventh of the service's code. */
const library = () => import('@simplewebauthn/server')

/** The page that uses passkeys, which belong to `id`, a host name, and work only for `origin`. */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

/** A browser's response, from untrusted clients: the library checks each part of it. */
export type CredentialResponse = Readonly<Record<string, unknown>>

/** A stored passkey. */
interface Kept extends Pick<WebAuthnCredential, 'id' | 'publicKey' | 'counter'> {
  readonly transports: readonly string[]
}

/** The options for the browser's WebAuthn API. */
export type Options = Record<string, unknown>

/**
 * Uses SERVICE_PUBLIC_URL or, without it, localhost and the port of the request.
 * @throws conflict if browsers create no passkeys there: without https, and for an IP address
 */
export const relyingPartyOf = (
  publicUrl: string | null,
  { protocol, hostname, port }: { readonly protocol: string; readonly hostname: string; readonly port: number },
): RelyingParty => {
  const url = new URL(publicUrl ?? `${protocol}://localhost:${port}`)
  const isLocal = url.hostname === 'localhost' && (publicUrl !== null || hostname === 'localhost')
  const isNamed = url.protocol === 'https:' && publicUrl !== null && isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0
  if (isLocal || isNamed) return { id: url.hostname, origin: url.origin }
  throw conflict(
    'Passkeys need an https address with a host name: set SERVICE_PUBLIC_URL, such as https://fleet.example.org. Without it they work at http://localhost only.',
  )
}

export const newChallenge = (): string => randomBytes(32).toString('base64url')

const bytesOf = (base64url: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(base64url, 'base64url'))

/** Options of navigator.credentials.create(): a discoverable passkey that verifies its user. */
export const creationOptions = async (
  { id }: RelyingParty,
  {
    challenge,
    person,
    known,
  }: {
    readonly challenge: string
    readonly person: {
      readonly id: string
      readonly orgId: string
      readonly email: string
      readonly name: string | null
    }
    /** A device that has one of these creates no other. */
    readonly known: readonly Kept[]
  },
): Promise<Options> => {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: 'Tributary',
    rpID: id,
    userID: new Uint8Array(Buffer.from(person.id)),
    // The authenticator lists the passkey by this name.
    userName: `${person.email} (${person.orgId})`,
    userDisplayName: person.name ?? person.email,
    challenge: bytesOf(challenge),
    excludeCredentials: known.map((one) => ({ id: one.id, transports: [...one.transports] })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  return { ...options }
}

/** Options of navigator.credentials.get(): any passkey for this page. */
export const requestOptions = async ({ id }: RelyingParty, challenge: string): Promise<Options> => {
  const { generateAuthenticationOptions } = await library()
  return {
    ...(await generateAuthenticationOptions({ rpID: id, challenge: bytesOf(challenge), userVerification: 'required' })),
  }
}

/** Returns the ids of the credential in the response and of the person it claims; null if either is missing. */
export const namedIn = (response: CredentialResponse): { readonly id: string; readonly personId: string } | null => {
  const { userHandle } = (response.response ?? {}) as { readonly userHandle?: unknown }
  if (typeof response.id !== 'string' || typeof userHandle !== 'string') return null
  return { id: response.id, personId: Buffer.from(userHandle, 'base64url').toString() }
}

/** Returns the new credential; null if the response is invalid: the library throws for any error in it. */
export const verifiedCreation = async (
  response: CredentialResponse,
  { id, origin }: RelyingParty,
  challenge: string,
): Promise<WebAuthnCredential | null> => {
  const { verifyRegistrationResponse } = await library()
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as unknown as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
    })
    return verified ? registrationInfo.credential : null
  } catch {
    return null
  }
}

/** Returns the use counter; null if the response is invalid, or the counter is not above the last one. */
export const verifiedUse = async (
  response: CredentialResponse,
  { id, origin }: RelyingParty,
  { challenge, passkey }: { readonly challenge: string; readonly passkey: Kept },
): Promise<number | null> => {
  const { verifyAuthenticationResponse } = await library()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: id,
      credential: { id: passkey.id, publicKey: passkey.publicKey, counter: passkey.counter },
      requireUserVerification: true,
    })
    return verified ? authenticationInfo.newCounter : null
  } catch {
    return null
  }
}
