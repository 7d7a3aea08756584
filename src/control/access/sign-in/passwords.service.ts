import { hash, verify } from '@node-rs/argon2'
import { badRequest, ServiceError } from '../../../domain/errors.ts'

/** argon2id as OWASP's password storage guide has it: 19 MiB, 2 passes, 1 lane. It runs off the event loop. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Checked in place of an account's that does not exist, so that the answer takes as long. */
let nobody: Promise<string> | null = null

/** Each takes 19 MiB and a core: a client that sends many passwords must not exhaust the machine. */
const AT_ONCE = 4
const MAX_WAITING = 64
let running = 0
const waiting: (() => void)[] = []

/** @throws unavailable when too many wait already */
const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
  if (running >= AT_ONCE) {
    if (waiting.length >= MAX_WAITING) {
      throw new ServiceError('unavailable', 'Too many passwords are being checked. Try again in 5 s.', {
        retryAfterSeconds: 5,
      })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  } else running++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running--
    else next()
  }
}

export const hashPassword = (password: string): Promise<string> => inTurn(() => hash(password.normalize('NFKC'), COST))

/** Whether the password is the one of `hashed`; with null the answer is no, after the same time. */
export const isPassword = (password: string, hashed: string | null): Promise<boolean> =>
  inTurn(
    async () =>
      (await verify(hashed ?? (await (nobody ??= hash('nobody', COST))), password.normalize('NFKC'))) &&
      hashed !== null,
  )

export const PASSWORD_LENGTH = { min: 12, max: 256 } as const

/** Long enough, and guessed at once all the same (NIST SP 800-63B, 5.1.1.2 asks to refuse such). */
const COMMON =
  /^(?:(?:password|passw0rd|letmein|welcome|qwerty|qwertz|iloveyou|admin|changeme|secret|tributary)[\d!.\-_]*){1,4}$/i

/** @throws bad_request when the password is too easy to guess, by the name of the `field` it stands in */
export const requireGoodPassword = (password: string, email: string, field = 'password'): void => {
  const { min, max } = PASSWORD_LENGTH
  if (password.length < min || password.length > max) {
    throw badRequest(`${field} must have ${min} to ${max} characters; it has ${password.length}.`)
  }
  const isRow = '01234567890123456789 abcdefghijklmnopqrstuvwxyz qwertyuiopasdfghjklzxcvbnm'.includes(
    password.toLowerCase(),
  )
  if (
    isRow ||
    COMMON.test(password) ||
    new Set(password).size < 5 ||
    email.toLowerCase().includes(password.toLowerCase())
  ) {
    throw badRequest(`${field} is too easy to guess. Choose another, such as four unrelated words.`)
  }
}
