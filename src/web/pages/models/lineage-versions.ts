import type { Version } from './model-records.ts'

/** What brings a version to devices, or brought it. */
export interface Use {
  readonly key: string
  readonly version: string
  readonly href: string
  readonly state: string
  /** Whether devices still get the version by it. */
  readonly inForce: boolean
  readonly text: string
}

export interface LineageRow {
  readonly version: Version
  readonly uses: readonly Use[]
}

const NEWEST = 5
const USES = 4

/** A use says its version as it was asked for: by its label or by its number. */
const isOf = ({ version, version_label }: Version, use: Use): boolean =>
  use.version === version_label || use.version === String(version)

/** The newest versions, and those before that have a name or are in use; of each the latest uses, those in force first. */
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
