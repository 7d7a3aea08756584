import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { StartError } from '../../../platform/db/start-error.ts'

/** Its native code is an optional dependency, so that a static import would fail before anything can be explained. */
const argon2 = () => import('@node-rs/argon2')

/** @throws StartError if the package was installed without native code for this system */
export const requireNativeCode = async (): Promise<void> => {
  await argon2().catch((error: unknown) => {
    throw new StartError(
      `The native code of @node-rs/argon2, which hashes passwords, cannot be loaded on ${process.platform} ${process.arch}. ` +
        'Install Tributary again on this system, with optional dependencies: npm install --include=optional. ' +
        'Windows also needs the Microsoft Visual C++ Redistributable.',
      error,
    )
  })
}

/** argon2id with the parameters of OWASP's password storage guide: 19 MiB, 2 passes, 1 lane. It runs off the event loop. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Checked if an account does not exist, so that the response takes as long. */
let nobody: Promise<string> | null = null

/** Each check takes 19 MiB and a core: a client that sends many passwords must not exhaust the machine. */
const AT_ONCE = 4
const MAX_WAITING = 64
let running = 0
const waiting: (() => void)[] = []

/** @throws unavailable if too many already wait */
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

export const hashPassword = (password: string): Promise<string> =>
  inTurn(async () => (await argon2()).hash(password.normalize('NFKC'), COST))

/** Returns whether the password matches each hash; with null, false after the same time. */
export const checkPassword = (password: string, hashes: readonly (string | null)[]): Promise<boolean[]> =>
  inTurn(async () => {
    const { hash, verify } = await argon2()
    const matches: boolean[] = []
    for (const hashed of hashes) {
      const isMatch = await verify(hashed ?? (await (nobody ??= hash('nobody', COST))), password.normalize('NFKC'))
      matches.push(isMatch && hashed !== null)
    }
    return matches
  })

export const isPassword = async (password: string, hashed: string | null): Promise<boolean> =>
  (await checkPassword(password, [hashed]))[0]!

export const PASSWORD_LENGTH = { min: 12, max: 256 } as const

/** Long enough, but easy to guess (NIST SP 800-63B, 5.1.1.2 asks to refuse such passwords). */
const COMMON =
  /^(?:(?:password|passw0rd|letmein|welcome|qwerty|qwertz|iloveyou|admin|changeme|secret|tributary)[\d!.\-_]*){1,4}$/i

/** @throws bad_request if the length is wrong or the password is easy to guess; `field` is its name in the request */
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
