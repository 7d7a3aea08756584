import { type Caller, DEFAULT_ORG, sees } from '../../../domain/access.ts'
import { PRESETS } from '../../../domain/compliance.ts'
import { badRequest, conflict, forbidden, notFound } from '../../../domain/errors.ts'
import { StartError } from '../../../platform/db/start-error.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { SettingsService } from '../settings/settings.service.ts'
import { orgsStore, type StoredOrg } from './orgs.store.ts'

export type { StoredOrg } from './orgs.store.ts'

const MAX_ID_CHARS = 128

export const createOrgsService = (
  context: Context,
  { settings }: { readonly settings: Pick<SettingsService, 'lock' | 'set'> },
) => ({
  /** Creates an organization whose id is derived from its name: `Acme Robotics` becomes `acme-robotics`. */
  async create(
    caller: Caller,
    wanted: Pick<StoredOrg, 'name' | 'compliance'> & { readonly region: StoredOrg['region'] | null },
  ): Promise<StoredOrg> {
    if (caller.orgId !== null) throw forbidden(`This key is bound to the organization '${caller.orgId}'.`)
    const id = slugOf(wanted.name)
    if (id === '') throw badRequest('name must contain at least one letter or digit.')
    if (id.length > MAX_ID_CHARS)
      throw badRequest(
        `name: choose a shorter one; its id would have ${id.length} characters, and at most ${MAX_ID_CHARS} are allowed.`,
      )
    const { region } = context.config
    const requested = { ...wanted, region: wanted.region ?? region ?? 'us' }
    if (region !== null && requested.region !== region) {
      throw badRequest(`region: this installation keeps data in '${region}', not in '${requested.region}'.`)
    }
    const org = { ...requested, id, createdAt: context.now() }
    await context.database.transaction(async (tx) => {
      if (!(await orgsStore.insert(tx, org)))
        throw conflict(`The organization '${id}' already exists. Choose another name.`)
      auditNote({ kind: 'org', id, name: org.name, orgId: id, after: requested })
      if (org.compliance !== null) {
        await settings.set(tx, id, await settings.lock(tx, id), PRESETS[org.compliance])
      }
    })
    return org
  },

  /** Warns of a probable typo. If the organization is created later, its existing keys and people still belong to it. */
  async warningsOf(id: string | null): Promise<string[]> {
    if (
      id === null ||
      context.config.enrollment === 'open' ||
      (await orgsStore.find(context.database.sql, id)) !== null
    )
      return []
    return [`There is no organization '${id}' yet: check the name, or create it with svc init.`]
  },

  async get(caller: Caller, id: string): Promise<StoredOrg> {
    const org = sees(caller, id) ? await orgsStore.find(context.database.sql, id) : null
    if (org === null) throw notFound('Organization', id)
    return org
  },

  /** At startup, refuses organizations whose data must be kept elsewhere. @throws StartError */
  async requireRegion(): Promise<void> {
    const { database, config } = context
    const { region } = config
    const others = region === null ? [] : await orgsStore.elsewhere(database.sql, region)
    if (others.length === 0) return
    const named = others.map((org) => `${org.id} (${org.region})`).join(', ')
    throw new StartError(
      `SERVICE_REGION is '${region}', but the data of these organizations must be kept elsewhere: ${named}. ` +
        'Correct SERVICE_REGION, or run them on an installation of their region.',
    )
  },

  /**
   * At startup under token enrollment, creates the organization `default` and gives it everything that belongs to none, such as
   * data from open enrollment. Each module hands over its own.
   */
  ensureDefault: (): Promise<void> =>
    context.database.transaction(async (tx) => {
      const org = {
        id: DEFAULT_ORG,
        name: DEFAULT_ORG,
        compliance: null,
        region: context.config.region ?? ('us' as const),
      }
      await orgsStore.insert(tx, { ...org, createdAt: context.now() })
      await context.events.publish(tx, 'unbound.adopted', { orgId: DEFAULT_ORG })
    }),
})

/** `Müller GmbH` becomes `muller-gmbh`; scripts whose letters need their marks keep them. */
const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '-')
    .replace(/^-+|-+$/g, '')

export type OrgsService = ReturnType<typeof createOrgsService>
