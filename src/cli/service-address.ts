import { hasCredentials, withoutCredentials } from '../domain/address-credentials.ts'
import { isLoopback } from '../domain/loopback.ts'
import { wrongUsage } from './failure.ts'

export const DEFAULT_API_BASE = 'http://127.0.0.1:8000'

/** `http://host:8000/api/v1/` -> `http://host:8000`. `source` says where the address came from, for the error. */
export const parseApiBase = (text: string, source: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw wrongUsage(
      `${source} is not the address of a service: '${withoutCredentials(text)}'.`,
      `It must look like ${DEFAULT_API_BASE}.`,
    )
  }
  const plain = (url.origin + url.pathname).replace(/\/+$/, '')
  if (hasCredentials(url)) {
    throw wrongUsage(
      `${source} contains a user name or password.`,
      `Leave it out: ${plain}. To sign in with a key, run: svc login --api-key`,
    )
  }
  return plain.replace(/\/api\/v1$/, '')
}

/** True if a key issued at one address may be sent to the other. A different port is a different program, even locally. */
export const isSameOrigin = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin

/** True if settings for one address apply to the other: same origin, or both on this machine. */
export const isSameService = (one: string, other: string): boolean => {
  const [left, right] = [new URL(one), new URL(other)]
  return left.origin === right.origin || (isLoopback(left.hostname) && isLoopback(right.hostname))
}
