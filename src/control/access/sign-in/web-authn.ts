import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON, WebAuthnCredential } from '@simplewebauthn/server'
import { conflict } from '../../../domain/errors.ts'

/** Loaded by the first passkey: with its certificates it is a seventh of the service's code. */
const library = () => import('@simplewebauthn/server')

/** The page that asks: passkeys belong to `id`, a host name, and answer to `origin` only. */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

/** What a browser answers, from strangers: the library looks at each part of it. */
export type Answer = Readonly<Record<string, unknown>>

/** A passkey as it is kept. */
interface Kept extends Pick<WebAuthnCredential, 'id' | 'publicKey' | 'counter'> {
  readonly transports: readonly string[]
}

/** The options for the browser's WebAuthn API. */
export type Options = Record<string, unknown>

/**
 * By SERVICE_PUBLIC_URL; without it, by the name localhost and the port that the request came to.
 * @throws conflict where browsers make no passkeys: without https, and for a bare address
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
    /** A device that has one of these makes no other. */
    readonly known: readonly Kept[]
  },
): Promise<Options> => {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: 'Tributary',
    rpID: id,
    userID: new Uint8Array(Buffer.from(person.id)),
    // What the authenticator lists it by.
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

/** The id of the credential that answers, and of the person it says it is of; null where it says neither. */
export const namedIn = (answer: Answer): { readonly id: string; readonly personId: string } | null => {
  const { userHandle } = (answer.response ?? {}) as { readonly userHandle?: unknown }
  if (typeof answer.id !== 'string' || typeof userHandle !== 'string') return null
  return { id: answer.id, personId: Buffer.from(userHandle, 'base64url').toString() }
}

/** The new credential; null if the response is invalid: the library throws for any error in it. */
export const verifiedCreation = async (
  answer: Answer,
  { id, origin }: RelyingParty,
  challenge: string,
): Promise<WebAuthnCredential | null> => {
  const { verifyRegistrationResponse } = await library()
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: answer as unknown as RegistrationResponseJSON,
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

/** The count of its uses; null when the answer is not good, or its count is not above the last one. */
export const verifiedUse = async (
  answer: Answer,
  { id, origin }: RelyingParty,
  { challenge, passkey }: { readonly challenge: string; readonly passkey: Kept },
): Promise<number | null> => {
  const { verifyAuthenticationResponse } = await library()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: answer as unknown as AuthenticationResponseJSON,
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
