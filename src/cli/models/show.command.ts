import type { Command } from 'commander'
import { splitReference } from '../../domain/model-reference.ts'
import { sizeWords } from '../../domain/sizes.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id; name@version, name@production')
    .argument('[version]', 'a version, latest, or an alias (default: latest)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (text: string, versionOption: string | undefined, { json, apiBase }: DataOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const { referenced } = await import('../model-sources/catalog.ts')
      const { name, version } =
        splitReference(text) === null
          ? { name: text, version: versionOption ?? 'latest' }
          : await referenced(connection, text, versionOption ?? 'latest')
      const path = { model_id: name, version }
      const found = await connection.request((client) =>
        client.GET('/api/v1/models/{model_id}/versions/{version}', { params: { path } }),
      )
      if (json) return out.json(found)
      const { training, runs } = found
      const spent = training?.privacy_spent ?? null
      const states = Object.entries(runs?.devices ?? {})
      out.fields([
        ['Model', found.model_name ?? found.model_id],
        ['Version', [found.version_label, ...found.aliases.map((alias) => `@${alias}`)].join(' ')],
        ['File', `${found.format}, ${sizeWords(found.model_size_bytes)}, ${found.model_hash}`],
        ...found.formats.map(
          ({ format, state, reason }) => [`As ${format}`, reason === null ? state : `${state}: ${reason}`] as const,
        ),
        ['Added', found.uploaded_at],
        ...(training === null
          ? [['From', found.trained_by === null ? 'an upload' : `round ${found.trained_by.round_number}`] as const]
          : [
              ['From', `round ${training.round_number} (${training.round_id})`] as const,
              [
                'Job',
                training.job_id === null ? null : [training.job_name, training.job_id].filter(Boolean).join(' '),
              ] as const,
              ['Strategy', training.strategy] as const,
              [
                'Devices',
                `${training.completed_devices} delivered, ${training.failed_devices} failed, of ${training.selected_devices} selected`,
              ] as const,
              ...(spent === null
                ? []
                : [
                    [
                      'Privacy',
                      `epsilon ${Number(spent.epsilon.toPrecision(4))} at delta ${spent.target_delta}`,
                    ] as const,
                  ]),
              ['Receipt', training.receipt_path] as const,
            ]),
        ['Runs on', states.length === 0 ? 'no device' : states.map(([state, count]) => `${count} ${state}`).join(', ')],
      ])
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
          use.created_at,
        ]),
      )
    })
}
