import type { Version } from './model-records.ts'

/** A plan that delivers or delivered a version. */
export interface Use {
  readonly key: string
  readonly version: string
  readonly href: string
  readonly state: string
  /** True if devices still get the version from it. */
  readonly inForce: boolean
  readonly text: string
}

export interface LineageRow {
  readonly version: Version
  readonly uses: readonly Use[]
}

const NEWEST = 5
const USES = 4

/** A use refers to its version as requested: by label or number. */
const isOf = ({ version, version_label }: Version, use: Use): boolean =>
  use.version === version_label || use.version === String(version)

/** Selects the newest versions, and older ones with an alias or in use; each with its latest uses, those in force first. */
export const chooseVersions = (versions: readonly Version[], uses: readonly Use[]): readonly LineageRow[] =>
  versions
    .map((version) => {
      const found = uses.filter((use) => isOf(version, use))
      const sorted = [...found.filter(({ inForce }) => inForce), ...found.filter(({ inForce }) => !inForce)]
      return { version, uses: sorted.slice(0, USES) }
    })
    .filter(
      ({ version, uses: found }, index) =>
        index < NEWEST || version.aliases.length > 0 || found.some(({ inForce }) => inForce),
    )
