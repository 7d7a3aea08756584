import { randomBytes } from 'node:crypto'
import type { Database, Executor } from '../../../platform/db/open.ts'
import { tokenHash } from '../../../platform/token-hash.ts'
import type { SignInStep, StepKind, StepsStore } from './steps.store.ts'

/** How long a sign-in waits for its next step. */
export const STEP_SECONDS = 5 * 60
const MAX_ATTEMPTS = 5
const TOKEN = /^[\w-]{43}$/

/**
 * Sign-ins that wait for their next step. Their tokens are in a cookie of the browser that began them, do not open a session,
 * and work only for their own kind of step.
 */
export const createSteps = ({
  database,
  store,
  now,
}: {
  readonly database: Database
  readonly store: StepsStore
  readonly now: () => Date
}) => ({
  /** Returns the token of the step. */
  async begin(
    tx: Executor,
    kind: StepKind,
    personId: string | null,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    const expiresAt = new Date(now().getTime() + STEP_SECONDS * 1000)
    await store.insert(tx, { hash: tokenHash(token), kind, personId, data, expiresAt })
    return token
  },

  /**
   * Returns the step and counts this attempt, one of at most five; null if it is unknown, expired or used up. It runs outside
   * the transaction that follows, so that a wrong code stays counted after a rollback.
   */
  attempt: async (token: string | null, kind: StepKind): Promise<SignInStep | null> =>
    token !== null && TOKEN.test(token)
      ? store.attempt(database.sql, { hash: tokenHash(token), kind, limit: MAX_ATTEMPTS, now: now() })
      : null,

  /** Returns the step and ends it; null if it is unknown, expired, or was taken before. */
  take: async (tx: Executor, token: string | null, kind: StepKind): Promise<SignInStep | null> =>
    token !== null && TOKEN.test(token) ? store.take(tx, tokenHash(token), kind, now()) : null,

  /** Ends the steps of a person. */
  endOf: (tx: Executor, personId: string): Promise<void> => store.deleteOf(tx, personId),

  deleteExpired: (): Promise<void> => store.deleteExpired(database.sql, now()),
})

export type Steps = ReturnType<typeof createSteps>
