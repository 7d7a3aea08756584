import type { Version, VersionLineage } from './model-records.ts'

/** A plan that delivers or delivered a version. */
export type Use = NonNullable<VersionLineage['runs']>['uses'][number]

const NEWEST = 5
const USES = 4

/** True if devices still get the version from this plan. A paused or completed experiment assigns nothing. */
const isInForce = ({ kind, status }: Pick<Use, 'kind' | 'status'>): boolean =>
  ['active', 'started', 'running'].includes(status) ||
  (kind !== 'experiment' && ['paused', 'completed'].includes(status))

/** Selects the newest versions, and older ones that have an alias or that devices get. */
export const chooseVersions = (versions: readonly Version[], delivered: ReadonlySet<number>): readonly Version[] =>
  versions.filter(({ version, aliases }, index) => index < NEWEST || aliases.length > 0 || delivered.has(version))

/** The latest uses of a version, those in force first. */
export const latestUses = (uses: readonly Use[]): readonly Use[] =>
  [...uses.filter(isInForce), ...uses.filter((use) => !isInForce(use))].slice(0, USES)
