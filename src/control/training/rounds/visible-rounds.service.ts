import type { Caller } from '../../../domain/access.ts'
import {
  MIN_GROUP_SIZE,
  mayDisclose,
  type Sources,
  type VisibleEvaluation,
  type VisibleSummaries,
  visibleEvaluation,
  visibleSummaries,
} from '../../../domain/disclosure.ts'
import type { Evaluation } from '../../../domain/metrics.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { SettingsService } from '../../access/settings/settings.service.ts'
import type { Context } from '../../context.ts'
import { type FigureKind, type FigureSource, figureSourcesReport } from './figure-sources.report.ts'
import type { FederationAccess } from './participant-scope.service.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'

/** A round with the figures that a caller may see. */
export type VisibleRound = Omit<StoredRound, 'metrics' | 'evaluation' | 'globalEvaluation'> & {
  readonly metrics: VisibleSummaries | null
  readonly evaluation: VisibleEvaluation | null
  readonly globalEvaluation: VisibleEvaluation | null
}

/** Decides which figures of a round are shown outside the organizations whose devices reported them. */
export const createVisibleRounds = (
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
  const minGroupSizesOf = async (
    db: Executor,
    rounds: readonly StoredRound[],
    sources: readonly FigureSource[],
  ): Promise<ReadonlyMap<string, number>> => {
    const membersOf = new Map<string, readonly string[]>()
    for (const id of new Set(rounds.flatMap(({ federationId }) => federationId ?? [])))
      membersOf.set(id, await federations.activeOrgs(db, id))
    const reporting = new Map(rounds.map(({ id }) => [id, new Set<string>()]))
    for (const { roundId, orgId } of sources) if (orgId !== null) reporting.get(roundId)?.add(orgId)
    const concerned = [...membersOf.values(), ...reporting.values()].flatMap((orgs) => [...orgs])
    const minimum = await settings.minGroupSizes([...new Set(concerned)], db)
    return new Map(
      rounds.map(({ id, federationId }) => {
        const all = [...(membersOf.get(federationId ?? '') ?? []), ...(reporting.get(id) ?? [])]
        return [id, Math.max(MIN_GROUP_SIZE, ...all.map((orgId) => minimum.get(orgId) ?? 0))]
      }),
    )
  }

  /** The rounds, without figures that would reveal single devices of organizations other than the reader's own. */
  const withholdFrom = async (
    db: Executor,
    rounds: readonly StoredRound[],
    isOwn: (orgId: string | null) => boolean,
  ): Promise<VisibleRound[]> => {
    const mixed = rounds.filter(({ federationId }) => federationId !== null)
    if (mixed.length === 0) return [...rounds]
    const sources = await sourcesOf(db, mixed)
    const minGroupSizes = await minGroupSizesOf(db, mixed, sources)
    const counts = countsBy(sources)
    return rounds.map((round) =>
      round.federationId === null
        ? round
        : withhold(round, counts, { isOwn, minGroupSize: minGroupSizes.get(round.id)! }),
    )
  }

  /** The rounds, without figures that would reveal single devices of other organizations to this caller. */
  const shown = async ({ orgId }: Pick<Caller, 'orgId'>, rounds: readonly StoredRound[]): Promise<VisibleRound[]> =>
    orgId === null ? [...rounds] : withholdFrom(database.sql, rounds, (one) => one === orgId)

  return {
    shown,

    /** Rounds by id, with the figures that the organization may see. */
    async ofOrg(orgId: string | null, ids: readonly string[]): Promise<ReadonlyMap<string, VisibleRound>> {
      const rounds = await shown({ orgId }, await roundsStore.findAll(database.sql, ids))
      return new Map(rounds.map((round) => [round.id, round]))
    },

    /** The same for one round. */
    async one(caller: Caller, round: StoredRound): Promise<VisibleRound> {
      return (await shown(caller, [round]))[0]!
    },

    /**
     * Rounds of one job with the figures that any member of the federation may see, because they become part of the catalog or
     * decide about the job: as shown to a member without a device in the round.
     */
    cataloged: (db: Executor, rounds: readonly StoredRound[]): Promise<VisibleRound[]> =>
      withholdFrom(db, rounds, () => false),
  }
}

/** Of 500 devices each, these take a few seconds; a page of 1,000 rounds in one statement would exceed its time limit. */
const ROUNDS_PER_STATEMENT = 50

const sourcesOf = async (db: Executor, rounds: readonly StoredRound[]): Promise<FigureSource[]> => {
  const idsOf = (some: readonly StoredRound[]) => some.map(({ id }) => id)
  const sources: FigureSource[] = []
  for (let at = 0; at < rounds.length; at += ROUNDS_PER_STATEMENT) {
    const part = rounds.slice(at, at + ROUNDS_PER_STATEMENT)
    for (const one of await figureSourcesReport.of(db, idsOf(part), idsOf(part.filter(isIncomplete)))) sources.push(one)
  }
  return sources
}

const keyOf = ({ roundId, kind, metric }: Pick<FigureSource, 'roundId' | 'kind' | 'metric'>): string =>
  `${roundId} ${kind} ${metric ?? ''}`

/** The sources by round, kind, and metric: a page of rounds has too many to search them for each figure. */
const countsBy = (sources: readonly FigureSource[]): ReadonlyMap<string, readonly FigureSource[]> => {
  const counts = new Map<string, FigureSource[]>()
  for (const one of sources) {
    const same = counts.get(keyOf(one))
    if (same === undefined) counts.set(keyOf(one), [one])
    else same.push(one)
  }
  return counts
}

/** True if some of the round's devices omitted a metric that others reported. */
const isIncomplete = ({ metrics, evaluation, globalEvaluation, completedDevices }: StoredRound): boolean =>
  [{ metrics, devices: completedDevices }, ...[evaluation, globalEvaluation].flatMap((one) => one ?? [])].some((one) =>
    Object.values(one.metrics ?? {}).some(({ devices }) => devices !== one.devices),
  )

const withhold = (
  round: StoredRound,
  counts: ReadonlyMap<string, readonly FigureSource[]>,
  { isOwn, minGroupSize }: { readonly isOwn: (orgId: string | null) => boolean; readonly minGroupSize: number },
): VisibleRound => {
  const { metrics, evaluation, globalEvaluation, completedDevices } = round
  /** `all` devices reported figures of this kind, `devices` of them this metric. */
  const sourcesFor = (kind: FigureKind, all: number, metric: string, devices = all): Sources => {
    const found = counts.get(keyOf({ roundId: round.id, kind, metric: devices === all ? null : metric })) ?? []
    const [own, others] = [found.filter((one) => isOwn(one.orgId)), found.filter((one) => !isOwn(one.orgId))]
    // In an asynchronous job, later rounds add a few devices to an evaluation, whose figures follow from the difference.
    const isFinal = kind === 'trained' || !round.plan.asynchronous
    return {
      own: own.reduce((sum, { devices }) => sum + devices, 0),
      others: others.map(({ devices }) => devices),
      minGroupSize: isFinal ? minGroupSize : Number.POSITIVE_INFINITY,
    }
  }
  const trained = (name: string) => sourcesFor('trained', completedDevices, name, metrics?.[name]?.devices)
  const mean = (name: 'loss' | 'accuracy') =>
    mayDisclose(trained(name), metrics?.[name]?.devices ?? completedDevices) ? round[name] : null
  const evaluated = (one: Evaluation | null, kind: FigureKind) =>
    one && visibleEvaluation(one, (name) => sourcesFor(kind, one.devices, name, one.metrics[name]?.devices))
  return {
    ...round,
    loss: mean('loss'),
    accuracy: mean('accuracy'),
    metrics: metrics && nothingAsNull(visibleSummaries(metrics, trained)),
    evaluation: evaluated(evaluation, 'made'),
    globalEvaluation: evaluated(globalEvaluation, 'received'),
  }
}

const nothingAsNull = (summaries: VisibleSummaries): VisibleSummaries | null =>
  Object.keys(summaries).length === 0 ? null : summaries

export type VisibleRounds = ReturnType<typeof createVisibleRounds>
