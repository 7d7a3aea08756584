import type { Command } from 'commander'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument('<key_id>', 'id of the key, as svc keys list shows it')
    .addOption(apiBaseOption())
    .action(async (keyId: string, { apiBase }: ServiceOptions) => {
      const connection = await session.signedIn({ apiBase })
      const key = await connection.ask((client) =>
        client.DELETE('/api/v1/keys/{key_id}', { params: { path: { key_id: keyId } } }),
      )
      session.out.line(`Revoked ${key.name} (${key.id}).`)
      const own = await session.apiKey(connection.baseUrl)
      if (own?.key.startsWith(key.prefix)) {
        session.out.note(`You were using this key (${own.source}). Sign in again: svc login`)
      }
    })
}
