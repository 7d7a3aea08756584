import { type Command, Option } from 'commander'
import type { paths } from '../../client/client.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

type Key = paths['/api/v1/keys']['get']['responses']['200']['content']['application/json']['keys'][number]

interface ListOptions extends DataOptions {
  readonly devices?: true
  readonly kind?: Key['kind']
}

const stateOf = (key: Key, now: Date): string => {
  if (key.revoked_at !== null) return 'revoked'
  if (key.expires_at !== null && new Date(key.expires_at) <= now) return 'expired'
  return key.replaced_by === null ? 'active' : 'replaced'
}

const day = (timestamp: string | null, otherwise: string): string => timestamp?.slice(0, 10) ?? otherwise

export const define = (command: Command, session: Session): void => {
  command
    .option('--devices', 'the keys of devices, instead of those of people and programs')
    .addOption(new Option('--kind <kind>', 'keys of this kind only').choices(['service', 'personal', 'device']))
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async ({ devices, kind, json, apiBase }: ListOptions) => {
      const connection = await session.signedIn({ apiBase })
      const answer = await connection.ask((client) =>
        client.GET('/api/v1/keys', { params: { query: { devices: devices === true, ...(kind && { kind }) } } }),
      )
      if (json) return session.out.json(answer)
      session.out.table(
        ['ID', 'NAME', 'KIND', 'KEY', 'STATE', 'ORGANIZATION', 'CREATED', 'EXPIRES', 'LAST USED', 'SCOPES'],
        answer.keys.map((key) => [
          key.id,
          key.name,
          key.kind,
          `${key.prefix}…`,
          stateOf(key, session.now()),
          key.org_id,
          day(key.created_at, '-'),
          day(key.expires_at, 'never'),
          day(key.last_used_at, 'never'),
          key.scopes.join(','),
        ]),
      )
      const exceeding = answer.keys.filter((key) => key.exceeds_lifetime && stateOf(key, session.now()) === 'active')
      for (const { name, id } of exceeding)
        session.out.note(`${name} lasts longer than the organization allows. Replace it with: svc keys rotate ${id}`)
    })
}
