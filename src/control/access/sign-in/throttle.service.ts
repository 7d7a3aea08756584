import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { foldAddress } from '../../../domain/email-address.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Signer } from '../../../platform/secrets.ts'
import type { Context } from '../../context.ts'
import { type Pace, throttleStore } from './throttle.store.ts'

const MINUTES_15 = 15 * 60
const OF_ONE: Pace = { free: 5, maxSeconds: MINUTES_15 }
/** For codes that a person types to sign in a program: a minute is a tenth of their lifetime. */
const OF_CODES: Pace = { free: 10, maxSeconds: 60 }
const OF_ALL: Pace = { free: 50, maxSeconds: MINUTES_15 }

/** Where an attempt comes from. */
export interface Origin {
  readonly address: string
  /** The token of a browser that signed in before. */
  readonly known: string | null
}

const hashOf = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex')

/**
 * Slows down guessing without letting an attacker lock a person out (OWASP, device cookies). Failures count for the email address
 * and the network address they came from, and for the email address alone. A browser in which a person has signed in before
 * counts its own attempts at their account.
 */
export const createThrottle = ({ database, now }: Context, { signer }: { readonly signer: Signer }) => {
  const sign = (personId: string, nonce: string): Promise<string> => signer.pseudonym(`browser\n${personId}\n${nonce}`)

  /** Whether the person has signed in with this browser before. */
  const isKnown = async (personId: string, known: string): Promise<boolean> => {
    const [nonce = '', signature = ''] = known.split('.')
    const expected = Buffer.from(await sign(personId, nonce))
    const given = Buffer.from(signature)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }

  const admit = async (hash: string, pace: Pace): Promise<void> => {
    const seconds = await throttleStore.admit(database.sql, hash, pace, now())
    if (seconds === null) return
    throw new ServiceError('rate_limited', `Too many attempts. Try again in ${seconds} s.`, {
      retryAfterSeconds: seconds,
    })
  }

  const count = async (counters: readonly (readonly [hash: string, pace: Pace])[]): Promise<readonly string[]> => {
    for (const [hash, pace] of counters) await admit(hash, pace)
    return counters.map(([hash]) => hash)
  }

  /** The counters of attempts at `subject` in unknown browsers. */
  const countersOf = (subject: string, address: string) =>
    [
      [hashOf('address', subject, address), OF_ONE],
      [hashOf('all', subject), OF_ALL],
    ] as const

  const ofSecondFactor = async (personId: string, { address, known }: Origin) => {
    const subject = `second-factor\n${personId}`
    if (known === null || !(await isKnown(personId, known))) return countersOf(subject, address)
    return [[hashOf('browser', subject, known), OF_ONE]] as const
  }

  return {
    /**
     * Counts an attempt for this email address, whether or not it has an account. `takeBack` uncounts it after a success, but no
     * earlier failures: they may have been at another account of the address.
     * @throws rate_limited while it must wait
     */
    attempt: (email: string, { address }: Origin): Promise<readonly string[]> =>
      count(countersOf(foldAddress(email), address)),

    /**
     * Counts an attempt at the account in which this browser has signed in before, if it is one of `personIds`; null if not.
     * @throws rate_limited while it must wait
     */
    async attemptByKnown(
      personIds: readonly string[],
      { known }: Origin,
    ): Promise<{ readonly personId: string; readonly counted: readonly string[] } | null> {
      if (known === null) return null
      for (const personId of personIds) {
        if (!(await isKnown(personId, known))) continue
        return { personId, counted: await count([[hashOf('browser', personId, known), OF_ONE]]) }
      }
      return null
    },

    /**
     * Counts an attempt at a person's second factor, over all of their sign-ins.
     * @throws rate_limited while it must wait
     */
    async attemptSecondFactor(personId: string, origin: Origin): Promise<void> {
      await count(await ofSecondFactor(personId, origin))
    },

    /** Resets the counters after the person has signed in from there. */
    async forgetSecondFactor(tx: Executor, personId: string, origin: Origin): Promise<void> {
      const counters = await ofSecondFactor(personId, origin)
      await throttleStore.forget(
        tx,
        counters.map(([hash]) => hash),
      )
    },

    /** Counts an attempt by a signed-in person. @throws rate_limited while it must wait */
    attemptIn: (sessionId: string): Promise<readonly string[]> => count([[hashOf('session', sessionId), OF_ONE]]),

    /**
     * Counts a new password of an account: whether signing in with it works without `org_id` shows whether it is also the
     * password of the address's account in another organization. @throws rate_limited while it must wait
     */
    countPassword: (orgId: string, email: string): Promise<void> =>
      admit(hashOf('password', orgId, foldAddress(email)), OF_ONE),

    /** Counts a guess at a code for each of `names`, until it is taken back. @throws rate_limited while it must wait */
    attemptCode: (names: readonly string[]): Promise<readonly string[]> =>
      count(names.map((name) => [hashOf('code', name), OF_CODES] as const)),

    takeBack: (counted: readonly string[], tx: Executor = database.sql): Promise<void> =>
      throttleStore.takeBack(tx, counted),

    forget: (tx: Executor, counted: readonly string[]): Promise<void> => throttleStore.forget(tx, counted),

    /** Returns a token that identifies a browser in which this person has signed in. */
    async knownBrowser(personId: string): Promise<string> {
      const nonce = randomBytes(16).toString('base64url')
      return `${nonce}.${await sign(personId, nonce)}`
    },
  }
}

export type Throttle = ReturnType<typeof createThrottle>
