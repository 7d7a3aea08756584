import { createHash, randomBytes } from 'node:crypto'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { SignInStep, StepKind, StepsStore } from './steps.store.ts'

/** How long a sign-in waits for its next step. */
export const STEP_SECONDS = 5 * 60
const MAX_ATTEMPTS = 5
const TOKEN = /^[\w-]{43}$/

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex')

/**
 * Sign-ins that wait for their next step. Their tokens are in a cookie of the browser that began them, are no session, and
 * count for their own kind of step only.
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
  /** Its token. */
  async begin(
    tx: Executor,
    kind: StepKind,
    personId: string | null,
    data: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const token = randomBytes(32).toString('base64url')
    const expiresAt = new Date(now().getTime() + STEP_SECONDS * 1000)
    await store.insert(tx, { hash: hashOf(token), kind, personId, data, expiresAt })
    return token
  },

  /**
   * The step of which this is one attempt of at most five; null when it is unknown, over or used up. Not in the transaction
   * of what follows: that a wrong code was tried stays counted when it is refused.
   */
  attempt: async (token: string | null, kind: StepKind): Promise<SignInStep | null> =>
    token !== null && TOKEN.test(token)
      ? store.attempt(database.sql, { hash: hashOf(token), kind, limit: MAX_ATTEMPTS, now: now() })
      : null,

  /** The step, which this ends; null when it is unknown, over, or was taken before. */
  take: async (tx: Executor, token: string | null, kind: StepKind): Promise<SignInStep | null> =>
    token !== null && TOKEN.test(token) ? store.take(tx, hashOf(token), kind, now()) : null,

  /** Ends those of a person. */
  endOf: (tx: Executor, personId: string): Promise<void> => store.deleteOf(tx, personId),

  deleteExpired: (): Promise<void> => store.deleteExpired(database.sql, now()),
})

export type Steps = ReturnType<typeof createSteps>
