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
import type { Database, Executor } from '../../../platform/db/open.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import type { FigureKind, FigureSource, FigureSourcesReport } from './figure-sources.report.ts'
import type { FederationAccess } from './participant-scope.service.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'

/** A round with the figures that a caller may see. */
export type ShownRound = Omit<StoredRound, 'metrics' | 'evaluation' | 'globalEvaluation'> & {
  readonly metrics: ShownSummaries | null
  readonly evaluation: ShownEvaluation | null
  readonly globalEvaluation: ShownEvaluation | null
}

/** Decides which figures of a round are shown outside the organizations whose devices reported them. */
export const createShownRounds = (parts: {
  readonly database: Database
  readonly store: Pick<RoundsStore, 'findAll'>
  readonly figureSources: FigureSourcesReport
  readonly federations: Pick<FederationAccess, 'activeOrgs'>
  readonly settings: Pick<SettingsService, 'of'>
}) => {
  const { database, store, figureSources, federations, settings } = parts

  /** The minimum group size of a federation: the highest of the default and its members' settings. */
  const fewestIn = async (db: Executor, federationId: string): Promise<number> => {
    let fewest = MIN_GROUP_SIZE
    for (const orgId of await federations.activeOrgs(db, federationId)) {
      fewest = Math.max(fewest, (await settings.of(orgId, db)).minGroupSize ?? 0)
    }
    return fewest
  }

  const fewestBy = async (rounds: readonly StoredRound[]): Promise<ReadonlyMap<string, number>> => {
    const ids = new Set(rounds.flatMap(({ federationId }) => federationId ?? []))
    return new Map(await Promise.all([...ids].map(async (id) => [id, await fewestIn(database.sql, id)] as const)))
  }

  return {
    /** The rounds, without figures that would reveal single devices of other organizations to this caller. */
    async shown(caller: Pick<Caller, 'orgId'>, rounds: readonly StoredRound[]): Promise<ShownRound[]> {
      const mixed = caller.orgId === null ? [] : rounds.filter(({ federationId }) => federationId !== null)
      if (mixed.length === 0) return [...rounds]
      const sources = await figureSources.of(
        database.sql,
        mixed.map(({ id }) => id),
      )
      const fewest = await fewestBy(mixed)
      return rounds.map((round) => {
        if (round.federationId === null) return round
        const of = sourcesIn(
          sources.filter(({ roundId }) => roundId === round.id),
          caller.orgId,
        )
        return withhold(round, (kind) => ({ ...of(kind), fewest: fewest.get(round.federationId!)! }))
      })
    },

    /** Rounds by id, with the figures that the organization may see. */
    async ofOrg(orgId: string | null, ids: readonly string[]): Promise<ReadonlyMap<string, ShownRound>> {
      const rounds = await this.shown({ orgId }, await store.findAll(database.sql, ids))
      return new Map(rounds.map((round) => [round.id, round]))
    },

    /** The same for one round. */
    async one(caller: Caller, round: StoredRound): Promise<ShownRound> {
      return (await this.shown(caller, [round]))[0]!
    },

    /**
     * The round with the figures that become part of the catalog, where any member of the federation may see them. Omits those
     * that a member must not see.
     */
    async catalogued(db: Executor, round: StoredRound): Promise<ShownRound> {
      const { federationId } = round
      if (federationId === null) return round
      const sources = await figureSources.of(db, [round.id])
      const fewest = await fewestIn(db, federationId)
      return withhold(round, (kind) => {
        const ofKind = sources.filter((source) => source.kind === kind)
        // If only the organization that started the round took part, it sees all of its own figures.
        const isAlone = ofKind.every(({ orgId }) => orgId === round.orgId)
        const largest = Math.max(0, ...ofKind.map(({ devices }) => devices))
        return { all: total(ofKind), own: isAlone ? total(ofKind) : largest, fewest }
      })
    },
  }
}

const total = (sources: readonly FigureSource[]): number => sources.reduce((sum, { devices }) => sum + devices, 0)

const sourcesIn =
  (sources: readonly FigureSource[], orgId: string | null) =>
  (kind: FigureKind): Omit<Sources, 'fewest'> => {
    const ofKind = sources.filter((source) => source.kind === kind)
    return { all: total(ofKind), own: total(ofKind.filter((source) => source.orgId === orgId)) }
  }

const withhold = (round: StoredRound, sourcesOf: (kind: FigureKind) => Sources): ShownRound => {
  const { metrics, evaluation, globalEvaluation, completedDevices } = round
  const trained = sourcesOf('trained')
  // Counts devices whose records were erased as devices of others.
  const all = Math.max(trained.all, completedDevices)
  const mean = (name: 'loss' | 'accuracy') =>
    mayShow({ ...trained, all }, metrics?.[name]?.devices ?? completedDevices) ? round[name] : null
  return {
    ...round,
    loss: mean('loss'),
    accuracy: mean('accuracy'),
    metrics: metrics && nothingAsNull(shownSummaries(metrics, { ...trained, all })),
    evaluation: evaluation && shownEvaluation(evaluation, atLeast(sourcesOf('made'), evaluation.devices)),
    globalEvaluation:
      globalEvaluation && shownEvaluation(globalEvaluation, atLeast(sourcesOf('received'), globalEvaluation.devices)),
  }
}

const atLeast = (sources: Sources, devices: number): Sources => ({ ...sources, all: Math.max(sources.all, devices) })

const nothingAsNull = (summaries: ShownSummaries): ShownSummaries | null =>
  Object.keys(summaries).length === 0 ? null : summaries

export type ShownRounds = ReturnType<typeof createShownRounds>
