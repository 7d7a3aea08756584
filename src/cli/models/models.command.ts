import { type Command, Option } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { querySources, SOURCES, type SourceName } from './sources.ts'

interface ModelsOptions extends DataOptions {
  readonly source: SourceName
}

export const define = (command: Command, session: Session): void => {
  command
    .addOption(
      new Option('--source <source>', 'source to list; all adds the models folder').choices(SOURCES).default('all'),
    )
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ source, json, apiBase }: ModelsOptions) => {
      const { out } = session
      const { models, notes } = await querySources(session, source, apiBase)
      if (json) {
        const presented = models.map(({ source: from, name, kind, bytes }) => ({
          source: from,
          name,
          kind,
          size: bytes,
        }))
        return out.json({ models: presented, notes })
      }
      if (models.length > 0) {
        out.table(
          ['SOURCE', 'MODEL', 'KIND', 'SIZE'],
          models.map(({ source: from, name, kind, bytes }) => [
            from,
            name,
            kind,
            bytes === null ? null : sizeWords(bytes),
          ]),
        )
      }
      for (const note of notes) out.note(note)
    })
}
