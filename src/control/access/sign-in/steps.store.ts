import type { Selectable } from 'kysely'
import type { SignInStepRow } from '../../../platform/db/access-rows.ts'
import type { Executor } from '../../../platform/db/open.ts'

/** What a sign-in waits for. */
export type StepKind = 'second-factor' | 'passkey-sign-in' | 'passkey-enroll' | 'totp-enroll' | 'oidc'

/** A sign-in that waits for its next step, identified by the SHA-256 of its token. */
export interface SignInStep {
  readonly hash: string
  readonly kind: StepKind
  /** The person who has passed their first factor; null before that. */
  readonly personId: string | null
  readonly data: Readonly<Record<string, unknown>>
  readonly expiresAt: Date
}

export const stepsStore = {
  async insert(db: Executor, step: SignInStep): Promise<void> {
    await db
      .insertInto('sign_in_steps')
      .values({
        hash: step.hash,
        kind: step.kind,
        person_id: step.personId,
        data: JSON.stringify(step.data),
        expires_at: step.expiresAt,
      })
      .execute()
  },

  /** Counts one attempt at the step, and locks it until the transaction ends; null if no attempt is left. */
  async attempt(
    tx: Executor,
    { hash, kind, limit, now }: { hash: string; kind: StepKind; limit: number; now: Date },
  ): Promise<SignInStep | null> {
    const row = await tx
      .updateTable('sign_in_steps')
      .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
      .where('hash', '=', hash)
      .where('kind', '=', kind)
      .where('attempts', '<', limit)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : fromRow(row)
  },

  /** Removes the step, so that it works only once. */
  async take(tx: Executor, hash: string, kind: StepKind, now: Date): Promise<SignInStep | null> {
    const row = await tx
      .deleteFrom('sign_in_steps')
      .where('hash', '=', hash)
      .where('kind', '=', kind)
      .returningAll()
      .executeTakeFirst()
    return row === undefined || row.expires_at <= now ? null : fromRow(row)
  },

  /** Removes a person's steps of this kind, and returns the newest; null if there is none or it has expired. */
  async takeOf(tx: Executor, personId: string, kind: StepKind, now: Date): Promise<SignInStep | null> {
    const query = tx.deleteFrom('sign_in_steps').where('person_id', '=', personId).where('kind', '=', kind)
    const steps = (await query.returningAll().execute()).map(fromRow).filter(({ expiresAt }) => expiresAt > now)
    return steps.sort((a, b) => Number(b.expiresAt) - Number(a.expiresAt))[0] ?? null
  },

  async deleteOf(tx: Executor, personId: string): Promise<void> {
    await tx.deleteFrom('sign_in_steps').where('person_id', '=', personId).execute()
  },

  async deleteExpired(db: Executor, now: Date): Promise<void> {
    await db.deleteFrom('sign_in_steps').where('expires_at', '<=', now).execute()
  },
}

const fromRow = (row: Selectable<SignInStepRow>): SignInStep => ({
  hash: row.hash,
  kind: row.kind as StepKind,
  personId: row.person_id,
  data: row.data,
  expiresAt: row.expires_at,
})
