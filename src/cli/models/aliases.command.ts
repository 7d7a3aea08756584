import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'

interface AliasesOptions extends DataOptions {
  readonly history?: true
  readonly delete?: string
}

interface Mover {
  readonly moved_at: string
  readonly moved_by: string | null
  readonly moved_by_name: string | null
}

const whoAndWhen = ({ moved_at, moved_by, moved_by_name }: Mover) => [moved_by_name ?? moved_by, timeWords(moved_at)]

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id')
    .option('--history', 'list the latest 100 moves of aliases')
    .option('--delete <alias>', 'delete this alias; its version stays')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, options: AliasesOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase: options.apiBase })
      const path = { model_id: name }
      const { ofKnownModel } = await import('../model-sources/catalog.ts')
      if (options.history) {
        const query = { limit: 100, offset: 0 }
        const found = await ofKnownModel(
          connection,
          { name },
          connection.request((client) =>
            client.GET('/api/v1/models/{model_id}/alias-history', { params: { path, query } }),
          ),
        )
        if (options.json) return out.json(found)
        const rows = found.moves.map((move) => [
          move.alias,
          move.from_version_label ?? '-',
          move.to_version_label ?? '-',
          ...whoAndWhen(move),
        ])
        return out.table(['ALIAS', 'FROM', 'TO', 'BY', 'AT'], rows)
      }
      const alias = options.delete
      const { aliases } = await ofKnownModel(
        connection,
        { name },
        connection.request((client) =>
          alias === undefined
            ? client.GET('/api/v1/models/{model_id}/aliases', { params: { path } })
            : client.DELETE('/api/v1/models/{model_id}/aliases/{alias}', { params: { path: { ...path, alias } } }),
        ),
      )
      if (options.json) return out.json({ aliases })
      if (alias !== undefined) return out.line(`${name}@${alias} is deleted.`)
      if (aliases.length === 0) return out.note(`'${name}' has no aliases. Create one with: svc models promote`)
      const rows = aliases.map((one) => [one.alias, one.version_label, ...whoAndWhen(one)])
      out.table(['ALIAS', 'VERSION', 'BY', 'AT'], rows)
    })
}
