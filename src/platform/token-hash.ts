import { createHash, timingSafeEqual } from 'node:crypto'

/** Returns the stored form of a secret with too much entropy to guess (a key, token or code): SHA-256 in hex. */
export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex')

/** Compares two texts in a time that depends only on their lengths. */
export const isSameText = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}
