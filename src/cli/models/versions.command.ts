import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import type { ListedVersion, ModelDetail } from '../model-sources/catalog.ts'
import { apiBaseOption, type DataOptions, DEFAULT_LIMIT, jsonOption, limitOption } from '../options.ts'
import { fourDigits, timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'

interface VersionsOptions extends DataOptions {
  readonly limit?: number
}

/** What the version's round measured, or else what was recorded with the version. */
const figureOf = (name: 'accuracy' | 'loss', model: ModelDetail, { version, trained_by, metadata }: ListedVersion) =>
  fourDigits(trained_by?.metrics[name] ?? (version === 1 ? model[name] : null) ?? metadata[name])

const originOf = ({ round_id }: ModelDetail, { version, trained_by }: ListedVersion): string => {
  if (trained_by === null) return round_id !== null && version === 1 ? 'round' : 'upload'
  const { job_id, round_number } = trained_by
  return job_id === null ? `round ${round_number}` : `round ${round_number} of job ${job_id.slice(0, 8)}`
}

const formatsOf = ({ format, formats }: ListedVersion): string =>
  [format, ...formats.map((one) => (one.state === 'ready' ? one.format : `${one.format} (${one.state})`))].join(', ')

const rowOf = (model: ModelDetail, version: ListedVersion): readonly (string | null)[] => [
  version.version_label,
  String(version.version),
  version.aliases.join(', ') || null,
  formatsOf(version),
  sizeWords(version.model_size_bytes),
  timeWords(version.uploaded_at),
  figureOf('accuracy', model, version),
  figureOf('loss', model, version),
  originOf(model, version),
  model.delivered_versions.includes(version.version) ? 'yes' : 'no',
]

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id')
    .addOption(limitOption())
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { limit = DEFAULT_LIMIT, json, apiBase }: VersionsOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const { knownModel } = await import('../model-sources/catalog.ts')
      const model = await knownModel(connection, name)
      const total = model.versions.length
      const versions = model.versions.toReversed().slice(0, limit)
      if (json) {
        const { id: model_id, name: model_name, delivered_versions } = model
        return out.json({ model_id, model_name, versions, total, delivered_versions })
      }
      if (total === 0) return out.note(`'${name}' has no versions. Upload one with: svc push`)
      await out.list(
        ['VERSION', 'NUMBER', 'ALIASES', 'FORMATS', 'SIZE', 'CREATED', 'ACCURACY', 'LOSS', 'FROM', 'DELIVERED'],
        versions.map((version) => rowOf(model, version)),
        { right: new Set([1, 4, 6, 7]) },
      )
      if (total > versions.length) out.note(`${versions.length} of ${total}; --limit all shows all.`)
    })
}
