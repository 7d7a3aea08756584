import { randomBytes } from 'node:crypto'
import type { Executor } from '../../../platform/db/open.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import type { Context } from '../../context.ts'
import { type SignInStep, type StepKind, stepsStore } from './steps.store.ts'

/** How long a sign-in waits for its next step. */
export const STEP_SECONDS = 5 * 60
/** How long a new authenticator app waits for its first code. */
const ENROLL_SECONDS = 60 * 60
const MAX_ATTEMPTS = 5
const TOKEN = /^[\w-]{43}$/

/**
 * Sign-ins that wait for their next step. Their tokens are in a cookie of the browser that began them, do not open a session,
 * and work only for their own kind of step.
 */
export const createSteps = ({ database, now }: Context) => ({
  /** Returns the token of the step. */
  async begin(
    tx: Executor,
    kind: StepKind,
    personId: string | null,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    const expiresAt = new Date(now().getTime() + STEP_SECONDS * 1000)
    await stepsStore.insert(tx, { hash: tokenHash(token), kind, personId, data, expiresAt })
    return token
  },

  /**
   * Returns the step and counts this attempt, one of at most five; null if it is unknown, expired or used up. It runs outside
   * the transaction that follows, so that a wrong code stays counted after a rollback.
   */
  attempt: async (token: string | null, kind: StepKind): Promise<SignInStep | null> =>
    token !== null && TOKEN.test(token)
      ? stepsStore.attempt(database.sql, { hash: tokenHash(token), kind, limit: MAX_ATTEMPTS, now: now() })
      : null,

  /** Returns the step and ends it; null if it is unknown, expired, or was taken before. */
  take: async (tx: Executor, token: string | null, kind: StepKind): Promise<SignInStep | null> =>
    token !== null && TOKEN.test(token) ? stepsStore.take(tx, tokenHash(token), kind, now()) : null,

  /** Begins a step of a signed-in person, which needs no token, in place of an earlier one of its kind. */
  async replaceOf(
    tx: Executor,
    kind: StepKind,
    personId: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const expiresAt = new Date(now().getTime() + ENROLL_SECONDS * 1000)
    await stepsStore.takeOf(tx, personId, kind, now())
    await stepsStore.insert(tx, {
      hash: tokenHash(randomBytes(32).toString('base64url')),
      kind,
      personId,
      data,
      expiresAt,
    })
  },

  /** Returns a person's step of this kind and ends it; null if there is none or it has expired. */
  takeOf: (tx: Executor, kind: StepKind, personId: string): Promise<SignInStep | null> =>
    stepsStore.takeOf(tx, personId, kind, now()),

  /** Ends the steps of a person. */
  endOf: (tx: Executor, personId: string): Promise<void> => stepsStore.deleteOf(tx, personId),

  deleteExpired: (): Promise<void> => stepsStore.deleteExpired(database.sql, now()),
})

export type Steps = ReturnType<typeof createSteps>
