import type { Command } from 'commander'
import type { Metadata } from '../../domain/version-metadata.ts'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { metadataOption, showMetadata } from './metadata-option.ts'

interface SetMetadataOptions extends DataOptions {
  readonly meta?: Metadata
  readonly delete?: readonly string[]
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id')
    .argument('<version>', 'a version, latest, or an alias')
    .addOption(metadataOption())
    .option('--delete <key>', 'delete a key; repeatable', (key: string, before: readonly string[] = []) => [
      ...before,
      key,
    ])
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, version: string, options: SetMetadataOptions) => {
      const { out } = session
      const { meta = {}, delete: deleted = [] } = options
      const both = deleted.find((key) => Object.hasOwn(meta, key))
      if (both !== undefined) throw wrongUsage(`The key '${both}' is both set and deleted.`)
      const metadata = { ...meta, ...Object.fromEntries(deleted.map((key) => [key, null])) }
      if (Object.keys(metadata).length === 0) throw wrongUsage('Give --meta <key=value> or --delete <key>.')
      const connection = await session.signedIn({ apiBase: options.apiBase })
      const { ofKnownModel } = await import('../model-sources/catalog.ts')
      const path = { model_id: name, version }
      const AT = '/api/v1/models/{model_id}/versions/{version}'
      // If this fails, the change says why.
      const before =
        deleted.length > 0
          ? await connection.request((client) => client.GET(AT, { params: { path } })).catch(() => null)
          : null
      const changed = await ofKnownModel(
        connection,
        { name, version },
        connection.request((client) => client.PATCH(AT, { params: { path }, body: { metadata } })),
      )
      for (const key of deleted)
        if (before !== null && !Object.hasOwn(before.metadata, key.normalize('NFC')))
          out.warn(`There was no key '${key}' to delete.`)
      if (options.json) return out.json(changed)
      out.line(`Changed the metadata of ${name} ${changed.version_label}.`)
      showMetadata(out, changed.metadata)
    })
}
