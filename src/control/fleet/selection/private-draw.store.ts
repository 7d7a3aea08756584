import { sql } from 'kysely'
import { coinBound } from '../../../domain/poisson-sampling.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { type Scope, within } from './selection.store.ts'

/** Who may be drawn for a private round, and who is. Nothing is preferred: chance alone decides. */
export const createPrivateDrawStore = () => ({
  /** N: how many devices of the scope are eligible. */
  async countEligible(db: Executor, scope: Scope, activeSince: Date): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from devices d where ${eligible(scope, activeSince)}`.execute(db)
    return rows[0]!.count
  },

  /**
   * Internal ids of the devices drawn, in no particular order. A device's coin is the first 64 bits of SHA-256 over the draw's
   * seed and its own id: with a secret seed of 32 random bytes, used once and never stored, the coins are independent
   * and nobody can tell them from chance. The database tosses them, so that a large fleet never crosses the event loop.
   */
  async draw(
    db: Executor,
    requested: {
      readonly scope: Scope
      readonly activeSince: Date
      readonly sampleRate: number
      readonly seed: Uint8Array
    },
  ): Promise<string[]> {
    const { scope, activeSince, sampleRate, seed } = requested
    const bound = coinBound(sampleRate)
    const isDrawn =
      bound === null
        ? sql<boolean>`true`
        : sql<boolean>`substring(sha256(decode(${Buffer.from(seed).toString('hex')}, 'hex') || uuid_send(d.id)) for 8)
            < decode(${bound}, 'hex')`
    const { rows } = await sql<{ id: string }>`
      select id from devices d where ${eligible(scope, activeSince)} and ${isDrawn}`.execute(db)
    return rows.map(({ id }) => id)
  },
})

const eligible = (scope: Scope, activeSince: Date) =>
  sql<boolean>`${within(scope)} and d.status = 'active' and d.trains and d.last_heartbeat >= ${activeSince}`

export type PrivateDrawStore = ReturnType<typeof createPrivateDrawStore>
