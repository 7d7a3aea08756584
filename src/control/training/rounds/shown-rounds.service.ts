import type { Caller } from '../../../domain/access.ts'
import {
  MIN_GROUP_SIZE,
  mayShow,
  type ShownEvaluation,
  type ShownSummaries,
  type Sources,
  shownEvaluation,
  shownSummaries,
} from '../../../domain/withheld-figures.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import type { Context } from '../../context.ts'
import { type FigureKind, type FigureSource, figureSourcesReport } from './figure-sources.report.ts'
import type { FederationAccess } from './participant-scope.service.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'

/** A round with the figures that a caller may see. */
export type ShownRound = Omit<StoredRound, 'metrics' | 'evaluation' | 'globalEvaluation'> & {
  readonly metrics: ShownSummaries | null
  readonly evaluation: ShownEvaluation | null
  readonly globalEvaluation: ShownEvaluation | null
}

/** Decides which figures of a round are shown outside the organizations whose devices reported them. */
export const createShownRounds = (
  { database }: Context,
  {
    federations,
    settings,
  }: {
    readonly federations: Pick<FederationAccess, 'activeOrgs'>
    readonly settings: Pick<SettingsService, 'minGroupSizes'>
  },
) => {
  /**
   * The minimum group size by round: the highest of the default and the settings of the federation's members and of the
   * organizations whose devices reported, which may have left.
   */
  const fewestBy = async (
    db: Executor,
    rounds: readonly StoredRound[],
    sources: readonly FigureSource[],
  ): Promise<ReadonlyMap<string, number>> => {
    const membersOf = new Map<string, readonly string[]>()
    for (const id of new Set(rounds.flatMap(({ federationId }) => federationId ?? [])))
      membersOf.set(id, await federations.activeOrgs(db, id))
    const reporting = sources.flatMap(({ orgId }) => orgId ?? [])
    const minimum = await settings.minGroupSizes([...new Set([...[...membersOf.values()].flat(), ...reporting])], db)
    return new Map(
      rounds.map(({ id, federationId }) => {
        const concerned = sources.flatMap(({ roundId, orgId }) => (roundId === id && orgId !== null ? [orgId] : []))
        const all = [...(membersOf.get(federationId ?? '') ?? []), ...concerned]
        return [id, Math.max(MIN_GROUP_SIZE, ...all.map((orgId) => minimum.get(orgId) ?? 0))]
      }),
    )
  }

  /** The rounds, without figures that would reveal single devices of other organizations to this caller. */
  const shown = async (caller: Pick<Caller, 'orgId'>, rounds: readonly StoredRound[]): Promise<ShownRound[]> => {
    const mixed = caller.orgId === null ? [] : rounds.filter(({ federationId }) => federationId !== null)
    if (mixed.length === 0) return [...rounds]
    const sources = await figureSourcesReport.of(
      database.sql,
      mixed.map(({ id }) => id),
    )
    const fewest = await fewestBy(database.sql, mixed, sources)
    return rounds.map((round) => {
      if (round.federationId === null) return round
      const of = sourcesIn(
        sources.filter(({ roundId }) => roundId === round.id),
        caller.orgId,
      )
      return withhold(round, (kind) => ({ ...of(kind), fewest: fewest.get(round.id)! }))
    })
  }

  return {
    shown,

    /** Rounds by id, with the figures that the organization may see. */
    async ofOrg(orgId: string | null, ids: readonly string[]): Promise<ReadonlyMap<string, ShownRound>> {
      const rounds = await shown({ orgId }, await roundsStore.findAll(database.sql, ids))
      return new Map(rounds.map((round) => [round.id, round]))
    },

    /** The same for one round. */
    async one(caller: Caller, round: StoredRound): Promise<ShownRound> {
      return (await shown(caller, [round]))[0]!
    },

    /**
     * The round with the figures that become part of the catalog, where any member of the federation may see them. Omits those
     * that a member must not see.
     */
    async catalogued(db: Executor, round: StoredRound): Promise<ShownRound> {
      if (round.federationId === null) return round
      const sources = await figureSourcesReport.of(db, [round.id])
      const fewest = (await fewestBy(db, [round], sources)).get(round.id)!
      return withhold(round, (kind) => {
        const ofKind = sources.filter((source) => source.kind === kind)
        // The member that sees the fewest others owns the most devices; if all devices are one member's, the others own none.
        const own = ofKind.length > 1 ? Math.max(...ofKind.map(({ devices }) => devices)) : 0
        return { counted: total(ofKind), own, fewest }
      })
    },
  }
}

const total = (sources: readonly FigureSource[]): number => sources.reduce((sum, { devices }) => sum + devices, 0)

const sourcesIn =
  (sources: readonly FigureSource[], orgId: string | null) =>
  (kind: FigureKind): Omit<Sources, 'all' | 'fewest'> => {
    const ofKind = sources.filter((source) => source.kind === kind)
    return { counted: total(ofKind), own: total(ofKind.filter((source) => source.orgId === orgId)) }
  }

const withhold = (round: StoredRound, sourcesOf: (kind: FigureKind) => Omit<Sources, 'all'>): ShownRound => {
  const { metrics, evaluation, globalEvaluation, completedDevices } = round
  const trained = reportedBy(sourcesOf('trained'), completedDevices)
  const mean = (name: 'loss' | 'accuracy') =>
    mayShow(trained, metrics?.[name]?.devices ?? completedDevices) ? round[name] : null
  return {
    ...round,
    loss: mean('loss'),
    accuracy: mean('accuracy'),
    metrics: metrics && nothingAsNull(shownSummaries(metrics, trained)),
    evaluation: evaluation && shownEvaluation(evaluation, reportedBy(sourcesOf('made'), evaluation.devices)),
    globalEvaluation:
      globalEvaluation &&
      shownEvaluation(globalEvaluation, reportedBy(sourcesOf('received'), globalEvaluation.devices)),
  }
}

const reportedBy = (sources: Omit<Sources, 'all'>, devices: number): Sources => ({
  ...sources,
  all: Math.max(sources.counted, devices),
})

const nothingAsNull = (summaries: ShownSummaries): ShownSummaries | null =>
  Object.keys(summaries).length === 0 ? null : summaries

export type ShownRounds = ReturnType<typeof createShownRounds>
