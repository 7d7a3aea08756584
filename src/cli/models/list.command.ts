import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { type ListedModel, listModels, modelsFolder } from '../../inference/models/model-folder.ts'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

const shown = (listed: ListedModel) => {
  if (listed.state === 'damaged') {
    const { name, path, fault } = listed
    return { name, variant: null, format: null, size: null, sha256: null, source: null, path, added_at: null, fault }
  }
  const { name, variant, format, bytes, sha256, source, path } = listed.model
  return { name, variant, format, size: bytes, sha256, source, path, added_at: listed.addedAt, fault: null }
}

export const define = (command: Command, { out, home, io }: Session): void => {
  command.addOption(jsonOption()).action(async ({ json }: { readonly json?: true }) => {
    const { allEngines } = await import('../../inference/engines/installed-engines.ts')
    const [listed, engines] = await Promise.all([listModels(home.folder), allEngines(io.env)])
    const models = listed.map(shown)
    if (json) {
      const presented = engines.map(({ name, installed, where, install }) => ({ name, installed, where, install }))
      return out.json({ folder: modelsFolder(home.folder), models, engines: presented })
    }
    out.table(
      ['MODEL', 'VARIANT', 'FORMAT', 'SIZE', 'FROM', 'SHA256'],
      models.map(({ name, variant, format, size, source, sha256, fault }) => [
        name,
        variant,
        fault === null ? format : `damaged: ${fault}`,
        size === null ? null : sizeWords(size),
        source,
        sha256?.slice(0, 12) ?? null,
      ]),
    )
    out.line('')
    out.table(
      ['ENGINE', 'INSTALLED', 'LOCATION, OR HOW TO INSTALL'],
      engines.map(({ name, installed, where, install }) => [name, installed ? 'yes' : 'no', where ?? install]),
    )
  })
}
