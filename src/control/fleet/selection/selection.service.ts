import { activeSince } from '../../../domain/device.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { PrivateDrawStore, Scope } from './selection.store.ts'

export type { Scope, SelectionStore } from './selection.store.ts'

/** The devices that a private round may draw, and the draw. */
export const createPrivateDraws = (parts: {
  readonly store: PrivateDrawStore
  /** 32 unpredictable bytes, new for every draw. */
  readonly seed: () => Uint8Array
  readonly now: () => Date
}) => {
  const { store, seed, now } = parts
  return {
    /** N: how many devices of the scope a private round would draw from now. */
    countEligible: (db: Executor, scope: Scope): Promise<number> => store.countEligible(db, scope, activeSince(now())),

    /** Draws each device independently: internal ids, sorted. Devices that became eligible after N was counted are included. */
    async draw(tx: Executor, scope: Scope, sampleRate: number): Promise<string[]> {
      return (await store.draw(tx, { scope, activeSince: activeSince(now()), sampleRate, seed: seed() })).sort()
    },
  }
}

export type PrivateDraws = ReturnType<typeof createPrivateDraws>
