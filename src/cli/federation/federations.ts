import type { paths } from '../../client/client.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'

export type Federation =
  paths['/api/v1/federations/{federation_id}']['get']['responses']['200']['content']['application/json']

const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

/** Returns the federation with this name or id. @throws Failure if there is none, or several share the name. */
export const federationNamed = async (connection: Connection, name: string): Promise<Federation> => {
  if (isId(name)) {
    return connection.ask((client) =>
      client.GET('/api/v1/federations/{federation_id}', { params: { path: { federation_id: name } } }),
    )
  }
  const { federations } = await connection.ask((client) =>
    client.GET('/api/v1/federations', { params: { query: { name } } }),
  )
  const [found, ...others] = federations
  if (found === undefined) {
    throw new Failure(`Federation '${name}' does not exist, or this key may not see it.`, {
      advice: 'List them with: svc federation list',
    })
  }
  if (others.length > 0) {
    const ids = federations.map(({ id, org_id }) => `${id} (of ${org_id})`).join(', ')
    throw new Failure(`There are several federations '${name}': ${ids}.`, { advice: 'Use its id instead.' })
  }
  return found
}

export const federationFields = (federation: Federation): [string, string | null][] => [
  ['Id', federation.id],
  ['Name', federation.name],
  ['Description', federation.description || null],
  ['Owner', federation.org_id],
  ['Members', String(federation.member_count)],
  ['Status', federation.status],
  ['Your role', standingOf(federation)],
  ['Created', federation.created_at],
]

/** Returns `owner`, `member`, or `invited`; null if the key is not bound to an organization. */
export const standingOf = ({ membership }: Federation): string | null => {
  if (membership === null) return null
  return membership.status === 'invited' ? 'invited' : membership.role
}

/** Rounds to four significant digits. */
export const short = (number: number | null): string | null =>
  number === null ? null : String(Number(number.toPrecision(4)))
