import { randomBytes } from 'node:crypto'
import type { Asker } from '../../accounting/accounting.ts'
import type { Database, Executor } from '../../db/open.ts'
import type { PrivacyLoss } from '../../domain/privacy/accountant.ts'
import { DEFAULT_DELTA, stepsOf } from '../../domain/privacy/mechanism.ts'
import { stragglerGraceSeconds } from '../../domain/round.ts'
import type { Random } from '../../domain/sampling.ts'
import { STRATEGY_RULES } from '../../domain/strategy-rules.ts'
import type { StrategySettings } from '../../domain/strategy-settings.ts'
import type { Ledger, Quote } from '../federations/ledger.service.ts'
import type { StoredVersion } from '../models/models.service.ts'
import type { SecurePlan, SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { ParticipantsStore } from './participants.store.ts'
import type { RoundPlan, RoundPrivacy, RoundsStore, StoredRound } from './rounds.store.ts'
import type { Scope, SelectionStore } from './selection.store.ts'

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
  readonly privacy: Pick<RoundPrivacy, 'noiseMultiplier' | 'clipNorm' | 'adaptiveClip' | 'delta'> | null
  /** Null where the service sees every update. */
  readonly secure: SecurePlan | null
  /** Its model and updates are bare float32 vectors. */
  readonly rawVector: boolean
  /** The device whose key starts it; it takes part. */
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
  readonly population: Population
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
  readonly ledger: Pick<Ledger, 'withQuote' | 'reserve' | 'lossOf'>
  readonly secure: Pick<SecureSteps, 'open'>
  readonly random: Random
  /** Overrides the grace that follows from a round's timeout. */
  readonly graceSeconds: number | null
  readonly now: () => Date
  readonly newId: () => string
}) => {
  const { database, store, selection, participants, ledger, secure, random, now, newId } = parts

  /** How many devices could be selected, where somebody needs to know: counting reads them all. */
  const populationOf = (db: Executor, scope: Scope): Promise<Population> => selection.countHeard(db, scope, now())

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

  return {
    /** Enough devices of the scope are active for a round that needs `enough`. */
    countActive: (db: Executor, scope: Scope, enough: number | null): Promise<number> =>
      selection.countActive(db, scope, now(), enough),

    /** The most that a device's chance comes to when so many are selected among those that are active now. */
    async sampleRateOf(db: Executor, scope: Scope, selected: number): Promise<number> {
      return chanceOf(selected, await populationOf(db, scope))
    },

    /** What a job's completed rounds cost together: they are composed, and converted once. */
    async spentBy(asker: Asker, jobId: string, delta = DEFAULT_DELTA): Promise<JobSpending> {
      const spent = await store.noisySteps(database.sql, jobId)
      const { epsilon, accountant } = await ledger.lossOf(asker, { spent }, delta)
      return { epsilon, accountant, delta, rounds: stepsOf(spent) }
    },

    /**
     * Computes what the round's noise costs, and then runs `work`, the transaction that opens the round at that price; it is
     * run again at a new price where the federation booked something else in between. The price is null without noise.
     * Throws BudgetRefused when the federation's privacy budget would be exceeded.
     */
    async priced<T>(wanted: ToPrice, work: (price: Price | null) => Promise<T>): Promise<T> {
      if (wanted.privacy === null) return work(null)
      const population = await populationOf(database.sql, wanted.scope)
      const { sampleRate, denominator } = drawOf(wanted, population)
      const { noiseMultiplier, delta = DEFAULT_DELTA } = wanted.privacy
      const steps = { noiseMultiplier, sampleRate, steps: 1 }
      // By itself: whoever books nothing in a federation's ledger is told at least that.
      const { epsilon, accountant } = await ledger.lossOf(wanted, { spent: [], more: [steps] }, delta)
      const privacy = { ...wanted.privacy, delta, sampleRate, denominator, epsilon, accountant }
      if (wanted.federationId === null) return work({ privacy, population, quote: null })
      return ledger.withQuote(wanted, wanted.federationId, steps, (quote) => work({ privacy, population, quote }))
    },

    /**
     * Opens the round in this transaction, at the price that `priced` has found. Throws conflict while another round of the
     * organization is in progress, and when something else was booked since.
     */
    async open(tx: Executor, asked: OpenRound, price: Price | null): Promise<StoredRound> {
      const startedAt = now()
      const wanted = { ...asked, starter: await starterOf(tx, asked) }
      const { timeoutSeconds, starter, scope, job, version } = wanted
      const id = newId()
      const needsPopulation = wanted.strategy?.name === 'scaffold'
      const population = price?.population ?? (needsPopulation ? await populationOf(tx, scope) : null)
      const plan = planOf(wanted, population?.active ?? null)
      const draw = {
        scope,
        count: wanted.targetDevices - (starter === null ? 0 : 1),
        now: startedAt,
        // A private draw prefers nobody for having come lately.
        lastRoundAt: wanted.privacy === null ? await store.lastStartedAt(tx, wanted.orgId) : new Date(0),
        except: starter,
        busyIn: null,
        random,
      }
      // An asynchronous round first takes those along who still train, and then draws among the others.
      const early = plan.asynchronous ? [] : await selection.drawActive(tx, draw)
      const selected = early.length + (starter === null ? 0 : 1)
      const privacy = price?.privacy ?? null
      if (price?.quote) {
        await ledger.reserve(tx, price.quote, {
          roundId: id,
          jobId: job?.id ?? null,
          clipNorm: price.privacy.clipNorm,
        })
      }
      const inserted = await store.insert(
        tx,
        {
          id,
          orgId: wanted.orgId,
          targetDevices: wanted.targetDevices,
          minDevices: wanted.minDevices,
          timeoutSeconds,
          graceSeconds: parts.graceSeconds ?? wanted.graceSeconds ?? stragglerGraceSeconds(timeoutSeconds),
          plan,
          globalModelId: version?.modelId ?? null,
          globalModelVersion: version?.version ?? null,
          globalSha256: version?.sha256 ?? null,
          startedAt,
          timeoutAt: new Date(startedAt.getTime() + timeoutSeconds * 1000),
          reviewAt: wanted.privacy === null ? new Date(startedAt.getTime() + timeoutSeconds * 100) : null,
          jobId: job?.id ?? null,
          groupId: wanted.groupId,
          federationId: wanted.federationId,
          wantedUpdates: wanted.wantedUpdates,
          stateSha256: job?.stateSha256 ?? null,
          controlSha256: job?.controlSha256 ?? null,
          privacy,
          noiseSeed: privacy === null ? null : randomBytes(32).toString('hex'),
        },
        selected,
      )
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
      const drawn = await selection.drawActive(tx, { ...draw, count, except: null, busyIn: id })
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
  'orgId' | 'federationId' | 'scope' | 'privacy' | 'wantedUpdates' | 'targetDevices' | 'starter'
>

type Population = Awaited<ReturnType<SelectionStore['countHeard']>>

/**
 * A device's chance to be selected is at most what the draw gives it. Those that were heard from are drawn first: where they
 * are too few all of them are taken, and nothing is left to chance.
 */
const chanceOf = (selected: number, { active, heard }: Population): number => {
  const first = heard > 0 ? heard : active
  return selected >= first ? 1 : selected / first
}

/** Where a device chose itself by starting the round, nothing is left to chance either. */
const drawOf = (wanted: ToPrice, population: Population): Pick<RoundPrivacy, 'denominator' | 'sampleRate'> => ({
  denominator: wanted.wantedUpdates ?? wanted.targetDevices,
  sampleRate: wanted.starter !== null ? 1 : chanceOf(wanted.targetDevices, population),
})

export type RoundStarts = ReturnType<typeof createRoundStarts>
