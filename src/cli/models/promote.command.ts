import type { Command } from 'commander'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'a model, by name or id')
    .argument('<version>', 'version for the alias: a version, latest, or another alias')
    .argument('<alias>', 'alias, such as production or candidate; created if it does not exist')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, version: string, alias: string, { json, apiBase }: DataOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const model = { model_id: name }
      const { ofKnownModel } = await import('../model-sources/catalog.ts')
      const { aliases } = await ofKnownModel(
        connection,
        { name },
        connection.request((client) => client.GET('/api/v1/models/{model_id}/aliases', { params: { path: model } })),
      )
      const before = aliases.find((one) => one.alias === alias) ?? null
      // Prevents overwriting a concurrent change of the alias.
      const expected = before === null ? null : String(before.version)
      const moved = await ofKnownModel(
        connection,
        { name, version },
        connection.request((client) =>
          client.PUT('/api/v1/models/{model_id}/aliases/{alias}', {
            params: { path: { ...model, alias } },
            body: { version, expected_version: expected },
          }),
        ),
      )
      if (json) return out.json(moved)
      if ('title' in moved) {
        out.line(`${moved.title}: waiting for the approval of another admin.`)
        return out.note(`They can approve it with: svc approvals approve ${moved.id}`)
      }
      if (before?.version === moved.version) {
        return out.line(`${name}@${alias} is already version ${moved.version_label}.`)
      }
      const since = before === null ? '' : `; it was ${before.version_label}`
      out.line(`${name}@${alias} is now version ${moved.version_label}${since}.`)
      out.note(`Deploy it with: svc deploy ${name}@${alias}`)
    })
}
