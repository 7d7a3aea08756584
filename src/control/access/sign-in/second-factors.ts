import { createHash, randomInt } from 'node:crypto'
import { generateSecret, generateURI, verify } from 'otplib'

/** RFC 6238 as all authenticator apps have it: SHA-1, 6 digits, 30 s. */
const PERIOD = 30
/** A code of the step before or after counts too: clocks differ, and typing takes time. */
const TOLERANCE = PERIOD
const CODES = 10
/** Without 0, 1, i, l, o and u: nothing that is misread. 20 of them are 98 bits. */
const ALPHABET = '23456789abcdefghjkmnpqrstvwxyz'
const GROUPS = 4
const GROUP = 5

export const newTotpSecret = (): string => generateSecret()

/** What an authenticator app reads from a QR code. */
export const totpUri = (secret: string, { email, issuer }: { email: string; issuer: string }): string =>
  generateURI({ issuer, label: email, secret, period: PERIOD })

/** The time step whose code this is; null when it is of none near now, or of one up to `after`. */
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

/** Ten codes of 98 bits each, for when the second factor is lost: `7kx2m-…`. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: CODES }, () =>
    Array.from({ length: GROUPS }, () =>
      Array.from({ length: GROUP }, () => ALPHABET[randomInt(ALPHABET.length)]).join(''),
    ).join('-'),
  )

/** However it was typed. They cannot be guessed, so that a fast hash will do. */
export const recoveryHashOf = (code: string): string =>
  createHash('sha256')
    .update(code.toLowerCase().replaceAll(/[^a-z0-9]/g, ''))
    .digest('hex')
