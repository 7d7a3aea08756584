import { createHash, randomInt } from 'node:crypto'
import { generateSecret, generateURI, verify } from 'otplib'
import { ReplacedKeyError, type Secrets } from '../../../platform/secrets.ts'

/** RFC 6238 with the parameters of all authenticator apps: SHA-1, 6 digits, 30 s. */
const PERIOD = 30
/** The code of the step before or after is accepted too, because clocks differ and typing takes time. */
const TOLERANCE = PERIOD
const CODES = 10
/** Excludes 0, 1, i, l, o and u, which are easily misread. 20 characters are 98 bits. */
const ALPHABET = '23456789abcdefghjkmnpqrstvwxyz'
const GROUPS = 4
const GROUP = 5

export const newTotpSecret = (): string => generateSecret()

/** Encrypts an authenticator app's secret for the person. */
export const sealTotp = (secrets: Secrets, personId: string, secret: string): Promise<string> =>
  secrets.seal(secret, `totp ${personId}`)

/** Null if it was encrypted with a key that has been replaced since: no code of that app can be checked any more. */
export const openTotp = (secrets: Secrets, personId: string, sealed: string): Promise<string | null> =>
  secrets.open(sealed, `totp ${personId}`).catch((error: unknown) => {
    if (error instanceof ReplacedKeyError) return null
    throw error
  })

/** Returns the content of the QR code for an authenticator app. */
export const totpUri = (secret: string, { email, issuer }: { email: string; issuer: string }): string =>
  generateURI({ issuer, label: email, secret, period: PERIOD })

/** Returns the time step of this code; null if it is not a code of about now, or not later than `after`. */
export const totpStepOf = async (
  code: string,
  { secret, after, now }: { secret: string; after: number | null; now: Date },
): Promise<number | null> => {
  const token = code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return null
  const epoch = Math.floor(now.getTime() / 1000)
  const options = { secret, token, epoch, period: PERIOD, epochTolerance: TOLERANCE }
  const found = await verify(after === null ? options : { ...options, afterTimeStep: after })
  return found.valid ? Math.floor(epoch / PERIOD) + found.delta : null
}

/** Returns ten codes of 98 bits each, for a lost second factor: `7kx2m-…`. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () =>
    Array.from({ length: GROUPS }, () =>
      Array.from({ length: GROUP }, () => ALPHABET[randomInt(ALPHABET.length)]).join(''),
    ).join('-'),
  )

/** Ignores case and separators. The codes cannot be guessed, so a fast hash is enough. */
export const recoveryHashOf = (code: string): string =>
  createHash('sha256')
    .update(code.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
    .digest('hex')
