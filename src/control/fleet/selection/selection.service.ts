import { activeSince } from '../../../domain/device.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { privateDrawStore, type Scope } from './selection.store.ts'

export { type Scope, selectionStore } from './selection.store.ts'

/** Counts the devices that a private round may draw, and draws them. */
export const createPrivateDraws = ({ now, drawSeed }: Context) => {
  return {
    /** N: the number of devices of the scope that a private round would draw from now. */
    countEligible: (db: Executor, scope: Scope): Promise<number> =>
      privateDrawStore.countEligible(db, scope, activeSince(now())),

    /** Draws each device independently; returns sorted internal ids. Includes devices that became eligible after counting N. */
    async draw(tx: Executor, scope: Scope, sampleRate: number): Promise<string[]> {
      return (
        await privateDrawStore.draw(tx, { scope, activeSince: activeSince(now()), sampleRate, seed: drawSeed() })
      ).sort()
    },
  }
}

export type PrivateDraws = ReturnType<typeof createPrivateDraws>
