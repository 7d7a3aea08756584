import type { Command } from 'commander'
import type { paths } from '../../client/client.ts'
import { splitReference } from '../../domain/model-reference.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Field } from '../output.ts'
import { fourDigits, textWords, timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import { showMetadata } from './metadata-option.ts'

type Version =
  paths['/api/v1/models/{model_id}/versions/{version}']['get']['responses']['200']['content']['application/json']

const originOf = (training: NonNullable<Version['training']>): readonly (Field | false)[] => {
  const { job_id, job_name, completed_devices, failed_devices, selected_devices, privacy_spent: spent } = training
  return [
    ['From', `round ${training.round_number} (${training.round_id})`],
    ['Job', job_id === null ? null : [job_name, job_id].filter(Boolean).join(' ')],
    ['Strategy', training.strategy],
    ['Devices', `${completed_devices} delivered, ${failed_devices} failed, of ${selected_devices} selected`],
    spent != null && ['Privacy', `epsilon ${Number(spent.epsilon.toPrecision(4))} at delta ${spent.target_delta}`],
    ['Receipt', training.receipt_path],
  ]
}

/** `loss 0.25, evaluation.accuracy 0.9`, or null: private rounds and uploads have no metrics. */
const metricsOf = (metrics: Readonly<Record<string, number>>): string | null =>
  Object.entries(metrics)
    .map(([name, value]) => `${name} ${fourDigits(value)}`)
    .join(', ') || null

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id; name@version, name@production')
    .argument('[version]', 'a version, latest, or an alias (default: latest)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (text: string, versionOption: string | undefined, { json, apiBase }: DataOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const { ofKnownModel, referenced } = await import('../model-sources/catalog.ts')
      const { name, version } =
        splitReference(text) === null
          ? { name: text, version: versionOption ?? 'latest' }
          : await referenced(connection, text, versionOption ?? 'latest')
      const path = { model_id: name, version }
      const found = await ofKnownModel(
        connection,
        { name, version },
        connection.request((client) =>
          client.GET('/api/v1/models/{model_id}/versions/{version}', { params: { path } }),
        ),
      )
      if (json) return out.json(found)
      const { training, runs } = found
      const states = Object.entries(runs?.devices ?? {})
      out.fields([
        ['Model', found.model_name ?? found.model_id],
        ['Version', [found.version_label, ...found.aliases.map((alias) => `@${alias}`)].join(' ')],
        ['File', `${found.format}, ${sizeWords(found.model_size_bytes)}, ${found.model_hash}`],
        ...found.formats.map(
          ({ format, state, reason }): Field => [`As ${format}`, reason === null ? state : `${state}: ${reason}`],
        ),
        ['Added', textWords(found.uploaded_at)],
        ...(training === null
          ? [['From', found.trained_by === null ? 'an upload' : `round ${found.trained_by.round_number}`] as const]
          : originOf(training)),
        found.trained_by !== null && ['Metrics', metricsOf(found.trained_by.metrics)],
        ['Runs on', states.length === 0 ? 'no device' : states.map(([state, count]) => `${count} ${state}`).join(', ')],
      ])
      if (Object.keys(found.metadata).length > 0) out.line('')
      showMetadata(out, found.metadata)
      if (runs === null || runs.uses.length === 0) return
      out.line('')
      out.table(
        ['KIND', 'ID', 'NAME', 'STATUS', 'PERCENT', 'CREATED'],
        runs.uses.map((use) => [
          use.kind,
          use.id,
          use.name,
          use.status,
          use.percentage === null ? null : String(Number(use.percentage.toPrecision(4))),
          timeWords(use.created_at),
        ]),
      )
    })
}
