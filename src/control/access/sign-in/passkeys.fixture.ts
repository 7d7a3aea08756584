import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

type PublicKey = Readonly<Record<string, unknown>>

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
const sha256 = (bytes: string | Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** What an attacker may change in a response. */
export interface Forged {
  readonly origin?: string
  readonly rpId?: string
  /** Without user verification. */
  readonly unverified?: boolean
  readonly userHandle?: string
  /** Replaces the next one. */
  readonly counter?: number
}

/** A software authenticator with one discoverable passkey (ES256, no attestation): WebAuthn level 3, section 6. */
export const makePasskey = (origin: string) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(32)
  const { x, y } = publicKey.export({ format: 'jwk' })
  const coordinate = (value: string | undefined) => new Uint8Array(Buffer.from(value!, 'base64url'))
  const cose = isoCBOR.encode(
    new Map<number, number | Uint8Array>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinate(x)],
      [-3, coordinate(y)],
    ]),
  )
  let counter = 0
  let user = ''

  const dataOf = (forged: Forged, attested: Uint8Array = new Uint8Array()): Buffer => {
    const flags = 0x01 | (forged.unverified ? 0 : 0x04) | (attested.length > 0 ? 0x40 : 0)
    const count = Buffer.alloc(4)
    count.writeUInt32BE(forged.counter ?? ++counter)
    const rpIdHash = sha256(forged.rpId ?? new URL(origin).hostname)
    return Buffer.concat([rpIdHash, Buffer.from([flags]), count, attested])
  }
  const clientOf = (type: string, challenge: unknown, forged: Forged): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: forged.origin ?? origin, crossOrigin: false }))
  const answer = (response: object) => ({
    id: base64url(id),
    rawId: base64url(id),
    type: 'public-key',
    response,
    clientExtensionResults: {},
  })

  return {
    id: base64url(id),
    create(options: PublicKey, forged: Forged = {}) {
      user = (options.user as { id: string }).id
      const length = Buffer.from([0, id.length])
      const attested = Buffer.concat([Buffer.alloc(16), length, id, cose])
      const authData = new Uint8Array(dataOf(forged, attested))
      const attestation = isoCBOR.encode(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]) as never,
      )
      return answer({
        clientDataJSON: base64url(clientOf('webauthn.create', options.challenge, forged)),
        attestationObject: base64url(attestation),
        transports: ['internal'],
      })
    },
    get(options: PublicKey, forged: Forged = {}) {
      const client = clientOf('webauthn.get', options.challenge, forged)
      const authData = dataOf(forged)
      return answer({
        clientDataJSON: base64url(client),
        authenticatorData: base64url(authData),
        signature: base64url(sign('sha256', Buffer.concat([authData, sha256(client)]), privateKey)),
        userHandle: forged.userHandle ?? user,
      })
    },
  }
}

export type SoftwarePasskey = ReturnType<typeof makePasskey>
