import { type Command, Option } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { querySources, SOURCES, type SourceName } from './sources.ts'

interface ModelsOptions extends DataOptions {
  readonly source: SourceName
  readonly search?: string
}

export const define = (command: Command, session: Session): void => {
  command
    .addOption(
      new Option('--source <source>', 'source to list; all adds the models folder').choices(SOURCES).default('all'),
    )
    .option('--search <text>', 'list only models whose name contains this, case-insensitive')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ source, search = '', json, apiBase }: ModelsOptions) => {
      const { out } = session
      const { models, notes } = await querySources(session, source, search.trim(), apiBase)
      if (json) {
        return out.json({ models: models.map(({ bytes, ...model }) => ({ ...model, size: bytes })), notes })
      }
      if (models.length > 0) {
        out.table(
          ['SOURCE', 'MODEL', 'KIND', 'SIZE'],
          models.map((model) => [
            model.source,
            model.name,
            model.kind,
            model.bytes === null ? null : sizeWords(model.bytes),
          ]),
        )
      }
      if (models.length === 0 && search !== '') out.note(`No model's name contains '${search}'.`)
      for (const note of notes) out.note(note)
    })
}
