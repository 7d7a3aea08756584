import { type Command, InvalidArgumentError, Option } from 'commander'
import { SCOPES, type Scope } from '../../domain/access.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import { isSameService } from '../service-address.ts'
import type { Session } from '../session.ts'

interface CreateOptions extends DataOptions {
  readonly scope?: readonly Scope[]
  readonly expires?: number
  readonly org?: string
}

const MAX_DAYS = 3650

/** `30d` -> 30 */
const parseDays = (text: string): number => {
  const days = /^(\d{1,4})d$/.exec(text)?.[1]
  if (days !== undefined && Number(days) >= 1 && Number(days) <= MAX_DAYS) return Number(days)
  throw new InvalidArgumentError(`It must be a number of days from 1d to ${MAX_DAYS}d, such as 30d.`)
}

const addScope = (text: string, before: readonly Scope[] = []): readonly Scope[] => {
  const scope = SCOPES.find((known) => known === text)
  if (scope === undefined) throw new InvalidArgumentError(`Scopes are ${SCOPES.join(', ')}.`)
  return before.includes(scope) ? before : [...before, scope]
}

/** Keys belong to the organization that `init` set up, where that was done on the same service. */
const orgOf = async (session: Session, baseUrl: string): Promise<string | undefined> => {
  const config = await session.home.config()
  return config !== null && isSameService(config.apiBase, baseUrl) ? config.orgId : undefined
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'name of the key')
    .addOption(
      new Option('--scope <scope>', 'scope of the key, repeatable (default: all but admin)').argParser(addScope),
    )
    .addOption(new Option('--expires <days>', 'lifetime, such as 30d (default: never expires)').argParser(parseDays))
    .option('--org <org_id>', 'organization that it is bound to (default: the one of svc init)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { scope, expires, org, json, apiBase }: CreateOptions) => {
      const connection = await session.signedIn({ apiBase })
      const orgId = org ?? (await orgOf(session, connection.baseUrl))
      const key = await connection.ask((client) =>
        client.POST('/api/v1/keys', {
          body: {
            name,
            ...(scope && { scopes: [...scope] }),
            ...(expires !== undefined && { expires_in_days: expires }),
            ...(orgId !== undefined && { org_id: orgId }),
          },
        }),
      )
      if (json) return session.out.json(key)
      session.out.fields([
        ['Key', key.api_key],
        ['Id', key.id],
        ['Name', key.name],
        ['Scopes', key.scopes.join(', ')],
        ['Organization', key.org_id],
        ['Expires', key.expires_at ?? 'never'],
      ])
      session.out.note('Save the key now: it is not shown again.')
    })
}
