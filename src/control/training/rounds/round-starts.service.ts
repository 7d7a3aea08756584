import { randomBytes } from 'node:crypto'
import { requireLikelyDraw, samplingOf } from '../../../domain/poisson-sampling.ts'
import type { PrivacyLoss } from '../../../domain/privacy/accountant.ts'
import { DEFAULT_DELTA, stepsOf } from '../../../domain/privacy/mechanism.ts'
import { stragglerGraceSeconds } from '../../../domain/round.ts'
import type { Random } from '../../../domain/sampling.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { StrategySettings } from '../../../domain/strategy-settings.ts'
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { StoredVersion } from '../../catalog/models/models.service.ts'
import type { Asker } from '../../federations/accounting/accounting.ts'
import type { Ledger, Quote } from '../../federations/ledger.service.ts'
import type { PrivateDraws, Scope, SelectionStore } from '../../fleet/selection/private-draws.service.ts'
import type { SecurePlan, SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import { hasPartIn, type ParticipantsStore } from './participants.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { NewRound, PrivacyWish, RoundPlan, RoundPrivacy, RoundsStore, StoredRound } from './rounds.store.ts'

/** A round that may begin: everything is checked but what only the transaction can know. */
export interface OpenRound {
  readonly orgId: string | null
  readonly groupId: string | null
  readonly federationId: string | null
  readonly scope: Scope
  /** Null is a plain round: federated averaging, and a plan without anything more. */
  readonly strategy: StrategySettings | null
  readonly hyperparameters: Readonly<Record<string, unknown>>
  readonly minDevices: number
  /** How many devices are selected. */
  readonly targetDevices: number
  /** How many updates close it; null: all that take part. */
  readonly wantedUpdates: number | null
  readonly timeoutSeconds: number
  /** Null: what follows from the timeout. */
  readonly graceSeconds: number | null
  readonly version: StoredVersion | null
  readonly privacy: PrivacyWish | null
  /** Null where the service sees every update. */
  readonly secure: SecurePlan | null
  /** Its model and updates are bare float32 vectors. */
  readonly rawVector: boolean
  /** The device whose key starts it; it takes part, but for private rounds, which leave everybody to chance. */
  readonly starter: string | null
  readonly job: {
    readonly id: string
    readonly step: number
    readonly stateSha256: string | null
    readonly controlSha256: string | null
    /** The round before, of an asynchronous job. */
    readonly previousRoundId: string | null
  } | null
}

/** What a private round's noise costs, known before the transaction that opens the round. */
export interface Price {
  readonly privacy: RoundPrivacy
  /** N, among which it draws. */
  readonly population: number
  /** Null where no federation's budget pays for it. */
  readonly quote: Quote | null
}

/** What a job has spent, whether a federation's budget pays for it or nobody's. */
export interface JobSpending extends Pick<PrivacyLoss, 'epsilon' | 'accountant'> {
  readonly delta: number
  readonly rounds: number
}

/** Opens rounds: draws the devices, books what noise costs, hands out the plan. */
export const createRoundStarts = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly selection: SelectionStore
  readonly participants: ParticipantsStore
  readonly draws: PrivateDraws
  readonly endings: Pick<RoundEndings, 'fail'>
  readonly ledger: Pick<Ledger, 'withQuote' | 'reserve' | 'lossOf'>
  readonly secure: Pick<SecureSteps, 'open'>
  readonly random: Random
  /** Overrides the grace that follows from a round's timeout. */
  readonly graceSeconds: number | null
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, selection, participants, draws, endings, ledger, secure, random, now, newId } = parts

  /** How many devices could be selected, where somebody needs to know: counting reads them all. */
  const populationOf = async (tx: Executor, { strategy, scope }: OpenRound, price: Price | null) => {
    if (price !== null) return price.population
    return strategy?.name === 'scaffold' ? selection.countActive(tx, scope, now()) : null
  }

  /** A device that starts a round takes part in it where it is one of those that the round is for. */
  const starterOf = async (tx: Executor, { starter, scope }: OpenRound): Promise<string | null> =>
    starter !== null && (await selection.belongsTo(tx, scope, starter)) ? starter : null

  const planOf = (wanted: OpenRound, population: number | null): RoundPlan => {
    const { strategy, hyperparameters, job } = wanted
    const vector = wanted.rawVector ? ({ rawVector: true } as const) : {}
    if (strategy === null) return { strategy: 'fedavg', hyperparameters, ...vector }
    const rules = STRATEGY_RULES[strategy.name]
    const onDevice = Object.fromEntries(rules.onDevice.map((name) => [name, strategy.options[name]!]))
    return {
      strategy: strategy.name,
      hyperparameters: { ...hyperparameters, ...onDevice },
      options: strategy.options,
      ...(job === null ? {} : { step: job.step }),
      ...(rules.asynchronous ? { asynchronous: true } : {}),
      ...(population === null ? {} : { population }),
      ...(wanted.secure === null ? {} : { secure: wanted.secure.settings }),
      ...vector,
    }
  }

  /** The round's row as it begins. */
  const roundOf = (
    wanted: OpenRound,
    privacy: RoundPrivacy | null,
    { id, plan, startedAt }: { readonly id: string; readonly plan: RoundPlan; readonly startedAt: Date },
  ): NewRound => {
    const { version, job, timeoutSeconds } = wanted
    const given = parts.graceSeconds ?? wanted.graceSeconds
    // What nobody has set is in a private round the whole timeout: it runs from the start, when nobody has trained yet.
    const graceSeconds = given ?? (privacy === null ? stragglerGraceSeconds(timeoutSeconds) : timeoutSeconds)
    const after = (seconds: number): Date => new Date(startedAt.getTime() + seconds * 1000)
    return {
      id,
      plan,
      startedAt,
      orgId: wanted.orgId,
      groupId: wanted.groupId,
      federationId: wanted.federationId,
      targetDevices: wanted.targetDevices,
      minDevices: wanted.minDevices,
      wantedUpdates: wanted.wantedUpdates,
      timeoutSeconds,
      graceSeconds,
      timeoutAt: after(timeoutSeconds),
      // Nobody is replaced in a private round.
      reviewAt: privacy === null ? after(timeoutSeconds / 10) : null,
      closesAt: privacy === null ? null : after(Math.min(graceSeconds, timeoutSeconds)),
      globalModelId: version?.modelId ?? null,
      globalModelVersion: version?.version ?? null,
      globalSha256: version?.sha256 ?? null,
      jobId: job?.id ?? null,
      stateSha256: job?.stateSha256 ?? null,
      controlSha256: job?.controlSha256 ?? null,
      privacy,
      noiseSeed: privacy === null ? null : randomBytes(32).toString('hex'),
    }
  }

  /** Books the round, and draws only then: what it costs and how it draws is fixed before anybody is drawn. */
  const openPrivate = async (tx: Executor, round: NewRound, scope: Scope, price: Price): Promise<StoredRound> => {
    const { privacy, quote } = price
    if (quote !== null) {
      await ledger.reserve(tx, quote, { roundId: round.id, jobId: round.jobId, clipNorm: privacy.clipNorm })
    }
    const drawn = await draws.draw(tx, scope, privacy.sampleRate)
    const inserted = await store.insert(tx, round, drawn.length)
    await participants.insertAll(tx, round.id, { starter: null, drawn }, round.startedAt)
    if (drawn.length >= round.minDevices) return inserted
    const reason =
      `The draw gave ${drawn.length} of at least ${round.minDevices} devices: in a private round chance decides how many, ` +
      'and nobody may take the place of others. Its privacy cost is spent all the same.'
    await endings.fail(tx, inserted, { event: 'fail', reason, told: reason })
    return (await store.lock(tx, round.id))!
  }

  return {
    /** How many devices the round could select; counting may stop at `enough`. */
    countActive: (
      db: Executor,
      { scope, privacy }: Pick<OpenRound, 'scope' | 'privacy'>,
      enough: number | null,
    ): Promise<number> =>
      privacy === null ? selection.countActive(db, scope, now(), enough) : draws.countEligible(db, scope),

    countEligible: draws.countEligible,

    /** What a job's rounds cost together, however they ended: they are composed, and converted once. */
    async spentBy(asker: Asker, jobId: string, delta = DEFAULT_DELTA): Promise<JobSpending> {
      const spent = await store.noisySteps(database.sql, jobId)
      const { epsilon, accountant } = await ledger.lossOf(asker, { spent }, delta)
      return { epsilon, accountant, delta, rounds: stepsOf(spent) }
    },

    /**
     * Fixes N and q of a private round, computes what its noise costs, and then runs `work`, the transaction that opens the round at that price; it is
     * run again at a new price where the federation booked something else in between. The price is null without noise.
     * Throws bad_request where the draw would too often be smaller than min_devices, and BudgetRefused when the federation's
     * privacy budget would be exceeded.
     */
    async priced<T>(wanted: ToPrice, work: (price: Price | null) => Promise<T>): Promise<T> {
      if (wanted.privacy === null) return work(null)
      const population = await draws.countEligible(database.sql, wanted.scope)
      requireLikelyDraw(wanted, population)
      const { sampleRate } = samplingOf(wanted.targetDevices, population)
      const { noiseMultiplier, delta = DEFAULT_DELTA } = wanted.privacy
      const steps = { noiseMultiplier, sampleRate, steps: 1 }
      // By itself: whoever books nothing in a federation's ledger is told at least that.
      const { epsilon, accountant } = await ledger.lossOf(wanted, { spent: [], more: [steps] }, delta)
      const sampling = { sampling: 'poisson', population, sampleRate, denominator: wanted.targetDevices } as const
      const privacy = { ...wanted.privacy, ...sampling, noise: 'sum-of-four', delta, epsilon, accountant } as const
      if (wanted.federationId === null) return work({ privacy, population, quote: null })
      return ledger.withQuote(wanted, wanted.federationId, steps, (quote) => work({ privacy, population, quote }))
    },

    /**
     * Opens the round in this transaction, at the price that `priced` has found. A private round whose draw is smaller than
     * min_devices ends in it, and is charged. Throws conflict while another round of the organization is in progress, and
     * when something else was booked since.
     */
    async open(tx: Executor, asked: OpenRound, price: Price | null): Promise<StoredRound> {
      const startedAt = now()
      const wanted = { ...asked, starter: await starterOf(tx, asked) }
      const id = newId()
      const plan = planOf(wanted, await populationOf(tx, wanted, price))
      const round = roundOf(wanted, price?.privacy ?? null, { id, plan, startedAt })
      if (price !== null) return openPrivate(tx, round, wanted.scope, price)
      const { starter, scope, job } = wanted
      const draw = {
        scope,
        count: wanted.targetDevices - (starter === null ? 0 : 1),
        now: startedAt,
        lastRoundAt: await store.lastStartedAt(tx, wanted.orgId),
        except: starter,
        without: null,
        random,
      }
      // An asynchronous round first takes those along who still train, and then draws among the others.
      const early = plan.asynchronous ? [] : await selection.drawActive(tx, draw)
      const inserted = await store.insert(tx, round, early.length + (starter === null ? 0 : 1))
      if (wanted.secure !== null) {
        await secure.open(tx, { id, startedAt, timeoutAt: inserted.timeoutAt }, wanted.secure)
      }
      if (!plan.asynchronous) {
        await participants.insertAll(tx, id, { starter, drawn: early }, startedAt)
        return inserted
      }
      const takenAlong = job?.previousRoundId
        ? await participants.takeAlong(tx, {
            from: job.previousRoundId,
            to: id,
            oldestStep: job.step - Number(plan.options!.max_staleness),
            now: startedAt,
          })
        : 0
      const count = wanted.targetDevices - takenAlong
      const drawn = await selection.drawActive(tx, { ...draw, count, except: null, without: hasPartIn(id) })
      await participants.insertAll(tx, id, { starter: null, drawn }, startedAt)
      const takingPart = takenAlong + drawn.length
      await store.update(tx, id, { taking_part: takingPart })
      return { ...inserted, takingPart }
    },
  }
}

/** What of a round its price depends on. */
export type ToPrice = Pick<
  OpenRound,
  'orgId' | 'federationId' | 'scope' | 'privacy' | 'minDevices' | 'wantedUpdates' | 'targetDevices' | 'starter'
>

export type RoundStarts = ReturnType<typeof createRoundStarts>
