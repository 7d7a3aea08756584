import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
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

/** The owner of a second factor. */
interface Owner {
  readonly id: string
  readonly email: string
}

const hashOf = (...parts: readonly string[]): string => createHash('sha256').update(parts.join('\n')).digest('hex')

/**
 * Slows down guessing without letting an attacker lock a person out (OWASP, device cookies). Failures count for the account and
 * the address they came from, and for the account over all addresses. A browser that has signed in before counts only its own.
 */
export const createThrottle = (
  { database, now }: Context,
  {
    signer,
  }: {
    readonly signer: Signer
  },
) => {
  const sign = (email: string, nonce: string): Promise<string> => signer.pseudonym(`browser\n${email}\n${nonce}`)

  const isKnown = async (email: string, known: string | null): Promise<boolean> => {
    const [nonce = '', signature = ''] = (known ?? '').split('.')
    const expected = Buffer.from(await sign(email, nonce))
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

  /** Returns the counters of attempts at `subject`; `email` is the address with which the browser has signed in. */
  const countersOf = async (
    subject: string,
    email: string,
    { address, known }: Origin,
  ): Promise<readonly (readonly [hash: string, pace: Pace])[]> => {
    if (known !== null && (await isKnown(email.toLowerCase(), known))) {
      return [[hashOf('browser', subject, known), OF_ONE]]
    }
    return [
      [hashOf('address', subject, address), OF_ONE],
      [hashOf('all', subject), OF_ALL],
    ]
  }

  const count = async (counters: Awaited<ReturnType<typeof countersOf>>): Promise<readonly string[]> => {
    for (const [hash, pace] of counters) await admit(hash, pace)
    return counters.map(([hash]) => hash)
  }

  const ofSecondFactor = ({ id, email }: Owner, origin: Origin) => countersOf(`second-factor\n${id}`, email, origin)

  return {
    /**
     * Counts an attempt for this email address, whether or not it has an account, until `forget` resets the counters.
     * @throws rate_limited while it must wait
     */
    attempt: async (email: string, origin: Origin): Promise<readonly string[]> =>
      count(await countersOf(email.toLowerCase(), email, origin)),

    /**
     * Counts an attempt at a person's second factor, over all of their sign-ins.
     * @throws rate_limited while it must wait
     */
    async attemptSecondFactor(owner: Owner, origin: Origin): Promise<void> {
      await count(await ofSecondFactor(owner, origin))
    },

    /** Resets the counters after the person has signed in from there. */
    async forgetSecondFactor(tx: Executor, owner: Owner, origin: Origin): Promise<void> {
      const counters = await ofSecondFactor(owner, origin)
      await throttleStore.forget(
        tx,
        counters.map(([hash]) => hash),
      )
    },

    /** Counts an attempt by a signed-in person. @throws rate_limited while it must wait */
    async attemptIn(sessionId: string): Promise<readonly string[]> {
      const ofSession = hashOf('session', sessionId)
      await admit(ofSession, OF_ONE)
      return [ofSession]
    },

    /** Counts a guess at a code for each of `names`, until it is taken back. @throws rate_limited while it must wait */
    async attemptCode(names: readonly string[]): Promise<readonly string[]> {
      const counted = names.map((name) => hashOf('code', name))
      for (const hash of counted) await admit(hash, OF_CODES)
      return counted
    },

    takeBack: (counted: readonly string[]): Promise<void> => throttleStore.takeBack(database.sql, counted),

    forget: (tx: Executor, counted: readonly string[]): Promise<void> => throttleStore.forget(tx, counted),

    /** Returns a token that identifies a browser that has signed in. */
    async knownBrowser(email: string): Promise<string> {
      const nonce = randomBytes(16).toString('base64url')
      return `${nonce}.${await sign(email.toLowerCase(), nonce)}`
    },
  }
}

export type Throttle = ReturnType<typeof createThrottle>
