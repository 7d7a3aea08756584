import { conflict } from '../../../domain/errors.ts'
import { plural } from '../../../domain/plural.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import type { Ledger } from '../../federations/ledger.service.ts'
import type { HeartbeatsService } from '../../fleet/heartbeats/heartbeats.service.ts'
import { type PrivateDraws, type Scope, selectionStore } from '../../fleet/selection/selection.service.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import { newRound, planOf, type RoundRequest } from './new-round.service.ts'
import { hasPartIn, participantsStore } from './participants.store.ts'
import type { PrivacyCost } from './privacy-costs.service.ts'
import { factsOf, type RoundEndings } from './round-endings.service.ts'
import { type NewRound, roundsStore, type StoredRound } from './rounds.store.ts'

export type { RoundRequest } from './new-round.service.ts'

interface Parts {
  readonly draws: PrivateDraws
  readonly endings: Pick<RoundEndings, 'fail'>
  readonly ledger: Pick<Ledger, 'reserve'>
  readonly secure: Pick<SecureSteps, 'open'>
  readonly heartbeats: Pick<HeartbeatsService, 'announce'>
  readonly models: Pick<ModelsService, 'keepShared'>
  /** The operator's straggler grace, for rounds that do not set one; null for the default that follows from the timeout. */
  readonly graceSeconds: number | null
}

/** Starts each kind of round, in the transaction that opens it. */
const createOpenings = ({ events, random }: Context, { draws, endings, ledger, secure, heartbeats }: Parts) => {
  const insert = async (tx: Executor, round: NewRound, takingPart: number): Promise<StoredRound> => {
    const inserted = await roundsStore.insert(tx, round, takingPart)
    await heartbeats.announce(tx, inserted.id)
    await events.publish(tx, 'round.started', factsOf(inserted))
    return inserted
  }

  const drawOf = async (tx: Executor, { orgId, startedAt }: NewRound, scope: Scope) => ({
    scope,
    now: startedAt,
    lastRoundAt: await roundsStore.lastStartedAt(tx, orgId),
    random,
  })

  const openPlain = async (tx: Executor, round: NewRound, requested: RoundRequest): Promise<StoredRound> => {
    const { scope, starter } = requested
    const count = round.targetDevices - (starter === null ? 0 : 1)
    const draw = await drawOf(tx, round, scope)
    const drawn = await selectionStore.drawActive(tx, { ...draw, count, except: starter, without: null })
    const inserted = await insert(tx, round, drawn.length + (starter === null ? 0 : 1))
    if (requested.secure !== null) await secure.open(tx, round, requested.secure)
    await participantsStore.insertAll(tx, round.id, { starter, drawn }, round.startedAt)
    return inserted
  }

  /** Takes over the devices that still train for the previous round, then draws from the others. */
  const openAsynchronous = async (tx: Executor, round: NewRound, requested: RoundRequest): Promise<StoredRound> => {
    const { id, startedAt, plan } = round
    const draw = await drawOf(tx, round, requested.scope)
    const inserted = await insert(tx, round, requested.starter === null ? 0 : 1)
    const carriedOver = requested.job?.previousRoundId
      ? await participantsStore.carryOver(tx, {
          from: requested.job.previousRoundId,
          to: id,
          oldestStep: requested.job.step - Number(plan.options!.max_staleness),
          now: startedAt,
        })
      : 0
    const count = round.targetDevices - carriedOver
    const drawn = await selectionStore.drawActive(tx, { ...draw, count, except: null, without: hasPartIn(id) })
    await participantsStore.insertAll(tx, id, { starter: null, drawn }, startedAt)
    const takingPart = carriedOver + drawn.length
    await roundsStore.update(tx, id, { taking_part: takingPart })
    return { ...inserted, takingPart }
  }

  /** Reserves the round's cost before the draw: its cost and sample rate must not depend on which devices are drawn. */
  const openPrivate = async (tx: Executor, round: NewRound, scope: Scope, price: PrivacyCost): Promise<StoredRound> => {
    const { privacy, quote } = price
    if (quote !== null) {
      await ledger.reserve(tx, quote, { roundId: round.id, jobId: round.jobId, clipNorm: privacy.clipNorm })
    }
    const drawn = await draws.draw(tx, scope, privacy.sampleRate)
    const inserted = await insert(tx, round, drawn.length)
    await participantsStore.insertAll(tx, round.id, { starter: null, drawn }, round.startedAt)
    if (drawn.length >= round.minDevices) return inserted
    const reason =
      `The draw gave ${drawn.length} of at least ${plural(round.minDevices, 'device')}: a private round draws devices at random, ` +
      'and adds none later. Its privacy cost is spent nevertheless.'
    await endings.fail(tx, inserted, { event: 'fail', reason, reported: reason })
    return (await roundsStore.lock(tx, round.id))!
  }

  return { openPlain, openAsynchronous, openPrivate }
}

/** Opens rounds: draws the devices, reserves the privacy cost, and creates the plan. */
export const createRoundStarts = (context: Context, parts: Parts) => {
  const { now, newId } = context
  const { draws, models } = parts
  const { openPlain, openAsynchronous, openPrivate } = createOpenings(context, parts)

  /** How many devices could be selected; null if the plan does not need it, because counting reads them all. */
  const populationOf = async (tx: Executor, { strategy, scope }: RoundRequest, price: PrivacyCost | null) => {
    if (price !== null) return price.population
    return strategy !== null && STRATEGY_RULES[strategy.name].controlVariates
      ? selectionStore.countActive(tx, scope, now())
      : null
  }

  /** The device that starts the round, if it belongs to the round's scope; null otherwise. */
  const starterOf = async (tx: Executor, { starter, scope }: RoundRequest): Promise<string | null> =>
    starter !== null && (await selectionStore.belongsTo(tx, scope, starter)) ? starter : null

  /** @throws conflict if the model has been unshared since the request was checked */
  const requireShared = async (tx: Executor, { sharedModel, version, orgId }: RoundRequest): Promise<void> => {
    if (!sharedModel || (await models.keepShared(tx, version!.modelId, orgId!))) return
    throw conflict(`The model ${version!.modelId} is no longer shared with '${orgId}'.`)
  }

  return {
    /** How many devices the round could select; counting may stop at `enough`. */
    countActive: (
      db: Executor,
      { scope, privacy }: Pick<RoundRequest, 'scope' | 'privacy'>,
      enough: number | null,
    ): Promise<number> =>
      privacy === null ? selectionStore.countActive(db, scope, now(), enough) : draws.countEligible(db, scope),

    /**
     * Opens the round in this transaction, at the price that `priced` has found. A private round whose draw is smaller than
     * min_devices ends in the same transaction, and is charged. @throws conflict while another round of the organization is in
     * progress, if its model is no longer shared, and if something else was booked in the meantime
     */
    async open(tx: Executor, request: RoundRequest, price: PrivacyCost | null): Promise<StoredRound> {
      await requireShared(tx, request)
      const startedAt = now()
      const starter = await starterOf(tx, request)
      const requested = { ...request, starter, graceSeconds: request.graceSeconds ?? parts.graceSeconds }
      const plan = planOf(requested, await populationOf(tx, requested, price))
      const round = newRound(requested, price?.privacy ?? null, { id: newId(), plan, startedAt })
      if (price !== null) return openPrivate(tx, round, requested.scope, price)
      return plan.asynchronous ? openAsynchronous(tx, round, requested) : openPlain(tx, round, requested)
    },
  }
}

export type RoundStarts = ReturnType<typeof createRoundStarts>
