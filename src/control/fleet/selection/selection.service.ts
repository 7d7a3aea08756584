import { activeSince } from '../../../domain/device.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { PrivateDrawStore, Scope } from './selection.store.ts'

export type { Scope, SelectionStore } from './selection.store.ts'

/** Counts the devices that a private round may draw, and draws them. */
export const createPrivateDraws = (parts: {
  readonly store: PrivateDrawStore
  /** 32 unpredictable bytes, new for every draw. */
  readonly seed: () => Uint8Array
  readonly now: () => Date
}) => {
  const { store, seed, now } = parts
  return {
    /** N: the number of devices of the scope that a private round would draw from now. */
    countEligible: (db: Executor, scope: Scope): Promise<number> => store.countEligible(db, scope, activeSince(now())),

    /** Draws each device independently; returns sorted internal ids. Includes devices that became eligible after counting N. */
    async draw(tx: Executor, scope: Scope, sampleRate: number): Promise<string[]> {
      return (await store.draw(tx, { scope, activeSince: activeSince(now()), sampleRate, seed: seed() })).sort()
    },
  }
}

export type PrivateDraws = ReturnType<typeof createPrivateDraws>
