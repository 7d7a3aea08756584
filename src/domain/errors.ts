/** All error codes and their HTTP statuses. */
export const STATUS_OF = {
  bad_request: 400,
  // RFC 8628, section 3.5: the errors for a program that polls for a device authorization.
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  access_denied: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  expectation_failed: 417,
  rate_limited: 429,
  internal_error: 500,
  upstream_failed: 502,
  upstream_busy: 503,
  unavailable: 503,
  upstream_timeout: 504,
  insufficient_storage: 507,
} as const

export type ErrorCode = keyof typeof STATUS_OF

/** An error meant for callers. The message states what was wrong, where, and what to do. */
export class ServiceError extends Error {
  readonly code: ErrorCode
  readonly retryAfterSeconds: number | undefined
  /** A label for metrics, if the code alone is too general. The set of values must be small. */
  readonly reason: string | undefined

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfterSeconds?: number; reason?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ServiceError'
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
    this.reason = options.reason
  }

  get statusCode(): number {
    return STATUS_OF[this.code]
  }

  toJSON(): { error: ErrorCode; message: string; status_code: number } {
    return { error: this.code, message: this.message, status_code: this.statusCode }
  }
}

export const badRequest = (message: string): ServiceError => new ServiceError('bad_request', message)
export const unauthorized = (message: string): ServiceError => new ServiceError('unauthorized', message)
export const forbidden = (message: string): ServiceError => new ServiceError('forbidden', message)
export const conflict = (message: string, reason?: string): ServiceError =>
  new ServiceError('conflict', message, reason === undefined ? {} : { reason })
export const rateLimited = (retryAfterSeconds: number): ServiceError =>
  new ServiceError('rate_limited', `Too many requests. Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds })

const MAX_SHOWN = 300
/** The longest valid ids are device ids of 255 characters. */
const shortened = (id: string): string => (id.length > MAX_SHOWN ? `${id.slice(0, MAX_SHOWN)}…` : id)

/**
 * `notFound('Device', 'pixel-7')` -> "Device 'pixel-7' does not exist, or this key has no access to it."
 * `notFound('Version', '3', "of model 'm'")` -> "Version '3' of model 'm' does not exist, or this key has no access to it."
 */
export const notFound = (what: string, id: string, place = ''): ServiceError =>
  new ServiceError(
    'not_found',
    `${what} '${shortened(id)}'${place && ` ${place}`} does not exist, or this key has no access to it.`,
  )

export const isNotFound = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'not_found'

/** Turns not_found into bad_request for something that a body names, prefixed by the field and followed by `advice`. */
export const inBody = async <Found>(field: string, find: () => Promise<Found>, advice = ''): Promise<Found> => {
  try {
    return await find()
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw badRequest(`${field}: ${error.message}${advice && ` ${advice}`}`)
  }
}
