import type { Executor } from '../../../platform/db/open.ts'
import type { Ledger } from '../../federations/ledger.service.ts'
import type { PrivateDraws, Scope } from '../../fleet/selection/private-draws.service.ts'
import type { ParticipantsStore } from './participants.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { Price } from './round-prices.service.ts'
import type { NewRound, RoundsStore, StoredRound } from './rounds.store.ts'

/** Opens a private round: books it, and draws only then. What it costs and how it draws is fixed before anybody is drawn. */
export const createPrivateStart =
  (parts: {
    readonly store: Pick<RoundsStore, 'lock'>
    readonly participants: Pick<ParticipantsStore, 'insertAll'>
    readonly draws: Pick<PrivateDraws, 'draw'>
    readonly endings: Pick<RoundEndings, 'fail'>
    readonly ledger: Pick<Ledger, 'reserve'>
    readonly insert: (tx: Executor, round: NewRound, takingPart: number) => Promise<StoredRound>
  }) =>
  async (tx: Executor, round: NewRound, scope: Scope, price: Price): Promise<StoredRound> => {
    const { store, participants, draws, endings, ledger, insert } = parts
    const { privacy, quote } = price
    if (quote !== null) {
      await ledger.reserve(tx, quote, { roundId: round.id, jobId: round.jobId, clipNorm: privacy.clipNorm })
    }
    const drawn = await draws.draw(tx, scope, privacy.sampleRate)
    const inserted = await insert(tx, round, drawn.length)
    await participants.insertAll(tx, round.id, { starter: null, drawn }, round.startedAt)
    if (drawn.length >= round.minDevices) return inserted
    const reason =
      `The draw gave ${drawn.length} of at least ${round.minDevices} devices: a private round draws devices at random, ` +
      'and adds none later. Its privacy cost is spent nevertheless.'
    await endings.fail(tx, inserted, { event: 'fail', reason, reported: reason })
    return (await store.lock(tx, round.id))!
  }
