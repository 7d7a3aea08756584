import type { DeploymentStatus } from './deployment.ts'

/** A pairing: one code for one device, which a person takes from an operator's screen to a phone. */
export const PAIRING_STATUSES = ['waiting', 'paired', 'deploying', 'active', 'expired', 'failed'] as const

export type PairingStatus = (typeof PAIRING_STATUSES)[number]

export const CODE_LIFETIME_MS = 5 * 60 * 1000

/** Without I, L, O, U, 0 and 1, which are easily confused; without them, few codes spell words. */
const ALPHABET = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 8

/** Consonants without look-alikes, 35 bits (RFC 8628, section 6.1): for letters-only codes. */
export const CONSONANTS = 'BCDFGHJKLMNPQRSTVWXZ'

/** Eight characters, 39 bits. `randomBytes` must come from a cryptographic source. */
export const composeCode = (randomBytes: (count: number) => Uint8Array, alphabet = ALPHABET): string => {
  let code = ''
  while (code.length < LENGTH) {
    for (const byte of randomBytes(LENGTH)) {
      // 240 = 8 x 30 = 12 x 20: larger bytes are discarded so that every character is equally likely.
      if (byte < 240 && code.length < LENGTH) code += alphabet[byte % alphabet.length]
    }
  }
  return code
}

/** `ABCD-2345`, for display. */
export const displayCode = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`

/** Normalizes a typed code, ignoring case, spaces and hyphens; null if it cannot be a code. */
export const typedCode = (text: string, alphabet = ALPHABET): string | null => {
  const code = text.toUpperCase().replace(/[\s-]/g, '')
  return code.length === LENGTH && [...code].every((sign) => alphabet.includes(sign)) ? code : null
}

/** The progress of the deployment to the paired device. */
export interface PairedDelivery {
  readonly deployment: DeploymentStatus
  readonly deploymentReason: string | null
  readonly device: 'downloading' | 'verifying' | 'ready' | 'active' | 'failed' | null
  readonly deviceReason: string | null
}

/** Returns a pairing's status at `now`, from its record and its deployment; with a reason for every unsuccessful end. */
export const pairingAt = (
  kept: { readonly status: 'waiting' | 'paired' | 'failed'; readonly reason: string | null; readonly expiresAt: Date },
  delivery: PairedDelivery | null,
  now: Date,
): { readonly status: PairingStatus; readonly reason: string | null } => {
  if (kept.status === 'failed') return { status: 'failed', reason: kept.reason }
  if (kept.status === 'waiting') {
    if (kept.expiresAt.getTime() > now.getTime()) return { status: 'waiting', reason: null }
    return { status: 'expired', reason: 'The code was not used within 5 minutes.' }
  }
  if (delivery === null) return { status: 'paired', reason: null }
  const { deployment, device, deviceReason, deploymentReason } = delivery
  if (deployment === 'failed' || deployment === 'rolled_back' || device === 'failed') {
    return { status: 'failed', reason: deviceReason ?? deploymentReason ?? 'The deployment was rolled back.' }
  }
  return { status: device === 'active' || deployment === 'completed' ? 'active' : 'deploying', reason: null }
}
