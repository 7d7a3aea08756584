import { type Caller, sees } from '../../../domain/access.ts'
import { conflict, forbidden, notFound, ServiceError } from '../../../domain/errors.ts'
import { isUuid } from '../../../domain/model.ts'
import { IN_PROGRESS, isDue, type RoundStatus } from '../../../domain/round.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Database } from '../../../platform/db/open.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import { runDue } from '../../periodic-tasks.ts'
import { singleFlight } from '../../single-flight.ts'
import type { DueRounds } from './due-rounds.service.ts'
import type { ParticipantScopes } from './participant-scope.service.ts'
import type { RoundEndings } from './round-endings.service.ts'
import { roundsReport } from './rounds.report.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'

export { roundsReport, visibleTo } from './rounds.report.ts'
export type { StoredRound } from './rounds.store.ts'

/** All devices of a round request its plan and model at about the same time. */
const REMEMBERED_MS = 10_000

/** The properties of a round that do not change after its start. */
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

/** Finds single rounds; batches concurrent requests. */
const createRoundLookup = (
  { database, now }: Context,
  {
    scopes: { maySee },
    due: { tick },
  }: {
    readonly scopes: Pick<ParticipantScopes, 'maySee'>
    readonly due: Pick<DueRounds, 'tick'>
  },
) => {
  // All of a round's devices request it at the same time, and again when they deliver.
  const lookUp = createBatcher<string, StoredRound | null>({
    maxBatch: 1000,
    run: async (ids) => {
      const found = new Map(
        (await roundsStore.findAll(database.sql, [...new Set(ids)])).map((round) => [round.id, round]),
      )
      return ids.map((id) => found.get(id) ?? null)
    },
  })

  /** The round, after processing due rounds. @throws not_found if the caller may not see it */
  const get = async (caller: Caller, id: string): Promise<StoredRound> => {
    const find = () => (isUuid(id) ? lookUp(id.toLowerCase()) : Promise.resolve(null))
    let round = await find()
    if (round !== null && isDue(round, now())) {
      await runDue(tick)
      round = await find()
    }
    if (round === null || !(await maySee(caller, round))) throw notFound('Round', id)
    return round
  }

  const beginnings = singleFlight<RoundBeginning>(64, REMEMBERED_MS)

  /** The unchanging part of a round. @throws not_found if the caller may not see it */
  const beginning = async (caller: Caller, id: string): Promise<RoundBeginning> => {
    const round = isUuid(id) ? await beginnings(id.toLowerCase(), () => lookUp(id.toLowerCase())) : null
    if (round === null || !(await maySee(caller, round))) throw notFound('Round', id)
    return round
  }
  return { get, beginning }
}

/** Reads and cancels rounds. */
export const createRoundsService = (
  context: Context,
  parts: {
    readonly scopes: Pick<ParticipantScopes, 'maySee'>
    readonly endings: Pick<RoundEndings, 'fail'>
    readonly due: Pick<DueRounds, 'tick'>
  },
) => {
  const { database, events, changes, now } = context
  const { endings, due } = parts
  const { get, beginning } = createRoundLookup(context, parts)

  // Wakes long polls.
  events.afterCommit('round.started', () => changes.notify('rounds'))
  events.afterCommit('round.places_freed', () => changes.notify('rounds'))
  events.afterCommit('round.completed', () => changes.notify('endings'))
  // Its devices may be asked to evaluate the model.
  events.afterCommit('evaluation.opened', () => changes.notify('rounds'))
  events.afterCommit('round.failed', () => changes.notify('rounds'))

  let lastSeen: string | null = null

  return {
    get,
    beginning,

    /** Detects rounds that another process has started, and wakes the devices that wait for one at this process. */
    async watch(): Promise<void> {
      if (!changes.isAwaited()) return
      const newest = (await roundsStore.latest(database.sql, null))?.id ?? null
      if (newest !== lastSeen) changes.notify('rounds')
      lastSeen = newest
    },

    /** Ends the round, for callers who may start rounds of its organization; its job continues with its next round. */
    async cancel(caller: Caller, id: string, why: string | null): Promise<StoredRound> {
      const visible = await get(caller, id)
      // Members of the round's federation see it, but only its own organization may cancel it.
      if (!sees(caller, visible.orgId))
        throw forbidden(`Only '${visible.orgId}', which started the round, can cancel it.`)
      const reason = why === null ? 'The round was canceled.' : `The round was canceled: ${why}`
      await database.transaction(async (tx) => {
        const round = (await roundsStore.lock(tx, visible.id))!
        if (!IN_PROGRESS.includes(round.status)) {
          throw conflict(`The round is ${round.status}: only a round in progress can be canceled.`)
        }
        await endings.fail(tx, round, { event: 'fail', reason, reported: reason, cancelled: true })
        const { status } = round
        auditNote({ kind: 'round', id, orgId: round.orgId, before: { status }, after: { status: 'failed', reason } })
      })
      return get(caller, id)
    },

    async current(caller: Caller): Promise<StoredRound> {
      const round = await roundsStore.latest(database.sql, caller.orgId)
      if (round === null)
        throw new ServiceError(
          'not_found',
          'There are no rounds yet. Start one with POST /api/v1/training/rounds/start.',
        )
      return isDue(round, now()) ? get(caller, round.id) : round
    },

    /** The latest round, or null before the first. */
    async latest(caller: Caller): Promise<StoredRound | null> {
      const round = await roundsStore.latest(database.sql, caller.orgId)
      return round !== null && isDue(round, now()) ? get(caller, round.id) : round
    },

    async list(caller: Caller, status: RoundStatus | undefined, page: { limit: number; offset: number }) {
      await runDue(due.tick)
      return roundsReport.list(database.sql, caller.orgId, status, page)
    },

    /** The latest round of a job, locked; null before its first. */
    async lockLatestOf(tx: Database['sql'], jobId: string): Promise<StoredRound | null> {
      const latest = await roundsStore.latestOfJob(tx, jobId)
      return latest === null ? null : roundsStore.lock(tx, latest.id)
    },

    /** True if the latest round of a job is in progress at this moment. */
    async hasActive(tx: Database['sql'], jobId: string): Promise<boolean> {
      const latest = await roundsStore.latestOfJob(tx, jobId)
      return latest !== null && IN_PROGRESS.includes(latest.status)
    },

    /** The round, locked until the transaction ends. */
    lock: (tx: Database['sql'], id: string): Promise<StoredRound | null> => roundsStore.lock(tx, id),

    latestOfJob: (tx: Database['sql'], jobId: string) => roundsStore.latestOfJob(tx, jobId),

    isInProgress: async (tx: Database['sql'], orgId: string | null): Promise<boolean> =>
      (await roundsStore.inProgress(tx, orgId)) !== null,
  }
}

export type RoundsService = ReturnType<typeof createRoundsService>
