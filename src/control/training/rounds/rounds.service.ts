import { type Caller, sees } from '../../../domain/access.ts'
import { badRequest, conflict, notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { describeFailures, dueEvent, IN_PROGRESS, requireSizes, TIMEOUT_SECONDS } from '../../../domain/round.ts'
import {
  needsModel,
  requirePrivacyAllowed,
  requireSecureAggregationAllowed,
  requireStandsAlone,
  type StrategySettings,
} from '../../../domain/strategy-settings.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { ModelsService, StoredVersion } from '../../catalog/models/models.service.ts'
import type { Changes } from '../../events.ts'
import { requireNoNoise, type SecureSteps, type SecureWish } from '../secure-rounds/secure-steps.service.ts'
import type { AbsentDevicesStore } from './absent-devices.store.ts'
import { lookedUpOnce } from './looked-up-once.ts'
import type { ModelContents } from './model-content.service.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { RoundReach } from './round-reach.service.ts'
import type { Review, RoundReviews } from './round-reviews.service.ts'
import type { OpenRound, RoundStarts } from './round-starts.service.ts'
import type { RoundsReport } from './rounds.report.ts'
import { alreadyInProgress, type PrivacyWish, type RoundsStore, type StoredRound } from './rounds.store.ts'

export type { StoredRound } from './rounds.store.ts'

export interface StartRound {
  readonly targetDevices: number
  readonly minDevices: number
  readonly timeoutSeconds: number | undefined
  readonly globalModel: string | undefined
  readonly orgId: string | undefined
  readonly hyperparameters: Readonly<Record<string, unknown>>
  /** Null is a plain round, which averages. */
  readonly strategy: StrategySettings | null
  /** Id or name. */
  readonly group: string | undefined
  readonly federation: string | undefined
  readonly privacy: PrivacyWish | null
  readonly secureAggregation: SecureWish | null
  /** Its model and updates are declared bare float32 vectors. */
  readonly rawVector: boolean
}

/** All devices of a round ask for its plan and its model in one moment. */
const REMEMBERED_MS = 10_000

/** What a round hands out: it stays as it was when the round began. */
export type RoundBeginning = Pick<
  StoredRound,
  | 'id'
  | 'orgId'
  | 'federationId'
  | 'roundNumber'
  | 'plan'
  | 'jobId'
  | 'timeoutAt'
  | 'closesAt'
  | 'privacy'
  | 'globalModelId'
  | 'globalModelVersion'
>

/** Starting rounds, looking at them, and moving them on when they are due. */
export const createRoundsService = (parts: {
  readonly database: Database
  readonly store: RoundsStore
  readonly report: Pick<RoundsReport, 'list'>
  readonly models: ModelsService
  readonly contents: ModelContents
  readonly reaching: RoundReach
  readonly starts: RoundStarts
  readonly secure: Pick<SecureSteps, 'prepare'>
  readonly endings: RoundEndings
  readonly reviews: RoundReviews
  readonly absent: Pick<AbsentDevicesStore, 'failures'>
  readonly changes: Changes
  readonly now: () => Date
}) => {
  const {
    database,
    store,
    report,
    models,
    contents,
    reaching,
    starts,
    secure,
    endings,
    reviews,
    absent,
    changes,
    now,
  } = parts

  const { maySee, reach, scopeOf } = reaching

  /** Moves every due round on. Called by a timer and before reads, so that what is read never lags the clock. */
  const tick = async (): Promise<void> => {
    if (!(await store.isAnyDue(database.sql, now()))) return
    const moved = await database.transaction(async (tx) => {
      const changed = new Set<Review>()
      for (const round of await store.lockDue(tx, now())) changed.add(await moveOn(tx, round))
      return changed
    })
    if (moved.has('closed') || moved.has('failed')) changes.notify('endings')
    if (moved.has('places')) changes.notify('rounds')
  }

  const moveOn = async (tx: Database['sql'], round: StoredRound): Promise<Review> => {
    switch (dueEvent(round, now())) {
      case 'collect':
        await endings.collect(tx, round)
        return 'closed'
      case 'time_out':
        await timeOut(tx, round)
        return 'failed'
      case null:
        return reviews.review(tx, round)
    }
  }

  const timeOut = async (tx: Database['sql'], round: StoredRound): Promise<void> => {
    const failures = round.privacy === null ? await absent.failures(tx, round.id) : null
    const parts = [
      `${endedEarly(round) ? 'All devices have reported' : `Timed out after ${lasted(round)} s`}: ` +
        `${round.completedDevices} of at least ${round.minDevices} updates had arrived.`,
      ...(round.plan.secure === undefined ? [] : ['Nothing of them was revealed.']),
      ...(failures === null || failures.failed === 0 ? [] : [`${describeFailures(failures)}.`]),
    ]
    const told = 'Had not delivered when the round timed out.'
    await endings.fail(tx, round, { event: 'time_out', reason: parts.join(' '), told })
  }

  const isDue = (round: StoredRound): boolean =>
    round.status === 'active' &&
    (dueEvent(round, now()) !== null || (round.reviewAt !== null && round.reviewAt.getTime() <= now().getTime()))

  // All of a round's devices ask for it at once, and again when they deliver.
  const lookUp = createBatcher<string, StoredRound | null>({
    maxBatch: 1000,
    run: async (ids) => {
      const found = new Map((await store.findAll(database.sql, [...new Set(ids)])).map((round) => [round.id, round]))
      return ids.map((id) => found.get(id) ?? null)
    },
  })

  /** The round, brought up to the clock; not_found when the caller may not see it. */
  const get = async (caller: Caller, id: string): Promise<StoredRound> => {
    const find = () => (isUuid(id) ? lookUp(id.toLowerCase()) : Promise.resolve(null))
    let round = await find()
    if (round !== null && isDue(round)) {
      await tick()
      round = await find()
    }
    if (round === null || !(await maySee(caller, round))) throw notFound('Round', id)
    return round
  }

  const beginnings = lookedUpOnce<RoundBeginning>(64, REMEMBERED_MS)

  /** What stays of the round as it began; not_found when the caller may not see it. */
  const beginning = async (caller: Caller, id: string): Promise<RoundBeginning> => {
    const round = isUuid(id) ? await beginnings(id.toLowerCase(), () => lookUp(id.toLowerCase())) : null
    if (round === null || !(await maySee(caller, round))) throw notFound('Round', id)
    return round
  }

  const globalModelOf = async (
    caller: Caller,
    wanted: StartRound,
    orgId: string | null,
  ): Promise<StoredVersion | null> => {
    if (wanted.globalModel === undefined) return models.latestAggregated(orgId)
    try {
      return (await models.findVersion(caller, wanted.globalModel, 'latest')).version
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
      throw badRequest(`global_model_id: ${error.message} Name a model of the catalog that has an uploaded version.`)
    }
  }

  let lastSeen: string | null = null

  return {
    tick,
    get,
    beginning,
    changes,

    /** Notices rounds that another process has started, for the devices that wait for one at this process. */
    async watch(): Promise<void> {
      if (!changes.isAwaited()) return
      const newest = (await store.latest(database.sql, null))?.id ?? null
      if (newest !== lastSeen) changes.notify('rounds')
      lastSeen = newest
    },

    reach,
    scopeOf,
    maySee,

    async start(caller: Caller, wanted: StartRound): Promise<StoredRound> {
      requireSizes(wanted)
      if (wanted.privacy !== null) requirePrivacyAllowed(wanted.strategy?.name ?? 'fedavg')
      if (wanted.secureAggregation !== null) {
        requireSecureAggregationAllowed(wanted.strategy?.name ?? 'fedavg')
        requireNoNoise(wanted.privacy)
      }
      const within = await reach(caller, wanted)
      await tick()
      if ((await store.inProgress(database.sql, within.orgId)) !== null) throw alreadyInProgress()
      const version = await globalModelOf(caller, wanted, within.orgId)
      const isPlain = wanted.privacy === null && wanted.secureAggregation === null
      const strategy = wanted.strategy ?? (isPlain ? null : { name: 'fedavg' as const, options: {} })
      requireStandsAlone(strategy, { hasModel: version !== null, isPrivate: wanted.privacy !== null })
      const rawVector = await contents.ofRound(version, {
        declared: wanted.rawVector,
        isNeeded: wanted.secureAggregation !== null || needsModel(strategy, wanted.privacy !== null),
      })
      const sizes = { selected: wanted.targetDevices, minDevices: wanted.minDevices, rawVector }
      const secured =
        wanted.secureAggregation === null
          ? null
          : await secure.prepare(wanted.secureAggregation, { ...sizes, modelSha256: version?.sha256 ?? null })
      const opening: OpenRound = {
        ...within,
        strategy,
        hyperparameters: wanted.hyperparameters,
        minDevices: wanted.minDevices,
        targetDevices: wanted.targetDevices,
        wantedUpdates: null,
        timeoutSeconds: wanted.timeoutSeconds ?? TIMEOUT_SECONDS.default,
        graceSeconds: null,
        version,
        privacy: wanted.privacy,
        secure: secured,
        rawVector,
        starter: caller.deviceId,
        job: null,
      }
      const round = await starts.priced(opening, (price) =>
        database.transaction((tx) => starts.open(tx, opening, price)),
      )
      changes.notify('rounds')
      return round
    },

    /** Ends the round, for whoever may start rounds of its organization; a job goes on with its next round. */
    async cancel(caller: Caller, id: string, why: string | null): Promise<StoredRound> {
      const visible = await get(caller, id)
      // Members of its federation see it; whoever started it ends it.
      if (!sees(caller, visible.orgId)) throw notFound('Round', id)
      const reason = why === null ? 'The round was cancelled.' : `The round was cancelled: ${why}`
      await database.transaction(async (tx) => {
        const round = (await store.lock(tx, visible.id))!
        if (!IN_PROGRESS.includes(round.status)) {
          throw conflict(`The round is ${round.status}: only a round in progress can be cancelled.`)
        }
        await endings.fail(tx, round, { event: 'fail', reason, told: reason, cancelled: true })
      })
      changes.notify('endings')
      changes.notify('rounds')
      return get(caller, id)
    },

    async current(caller: Caller): Promise<StoredRound> {
      const round = await store.latest(database.sql, caller.orgId)
      if (round === null) throw notFound('Round', 'current')
      return isDue(round) ? get(caller, round.id) : round
    },

    /** The latest round, or null before the first. */
    async latest(caller: Caller): Promise<StoredRound | null> {
      const round = await store.latest(database.sql, caller.orgId)
      return round !== null && isDue(round) ? get(caller, round.id) : round
    },

    async list(caller: Caller, page: { limit: number; offset: number }) {
      await tick()
      return report.list(database.sql, caller.orgId, page)
    },

    /** The latest round of a job, locked, while it is in progress; null otherwise. */
    async lockActiveOf(tx: Database['sql'], jobId: string): Promise<StoredRound | null> {
      const latest = await store.latestOfJob(tx, jobId)
      const round = latest === null ? null : await store.lock(tx, latest.id)
      return round !== null && IN_PROGRESS.includes(round.status) ? round : null
    },

    /** The round, locked until the transaction ends. */
    lock: (tx: Database['sql'], id: string): Promise<StoredRound | null> => store.lock(tx, id),

    latestOfJob: (tx: Database['sql'], jobId: string) => store.latestOfJob(tx, jobId),

    isInProgress: async (tx: Database['sql'], orgId: string | null): Promise<boolean> =>
      (await store.inProgress(tx, orgId)) !== null,

    countOfJob: (jobId: string): Promise<number> => store.countOfJob(database.sql, jobId),

    ofJob: (jobId: string, page: { limit: number; offset: number }) => store.ofJob(database.sql, jobId, page),
  }
}

/** A private round whose devices have all reported has nobody to wait for. */
const endedEarly = ({ closesAt, completedDevices, takingPart }: StoredRound): boolean =>
  closesAt !== null && completedDevices >= takingPart

const lasted = ({ closesAt, startedAt, timeoutSeconds }: StoredRound): number =>
  closesAt === null || startedAt === null ? timeoutSeconds : (closesAt.getTime() - startedAt.getTime()) / 1000

export type RoundsService = ReturnType<typeof createRoundsService>
