import { randomBytes } from 'node:crypto'
import { type Caller, homeOf, sees } from '../../../domain/access.ts'
import { badRequest, conflict, notFound } from '../../../domain/errors.ts'
import {
  INTEGRATION_TYPES,
  type IntegrationKind,
  type IntegrationTopic,
  type IntegrationType,
  type LogFormat,
  readEndpoint,
  readIntegrationConfig,
  rulesOf,
  withoutSecrets,
} from '../../../domain/integration.ts'
import { isUuid } from '../../../domain/model.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { Position } from '../events/outbox.service.ts'
import { deadLettersStore } from './dead-letters.store.ts'
import type { Deliveries } from './deliveries.service.ts'
import { type Backlog, deliveriesStore } from './deliveries.store.ts'
import { RefusedAddress, requireAllowedHost } from './guarded-address.ts'
import { integrationWork } from './integration-work.report.ts'
import { integrationsStore, type StoredIntegration } from './integrations.store.ts'
import { isBulkAddress } from './log-messages.ts'
import { reasonOf } from './send.ts'

export type { DeadLetter } from './dead-letters.store.ts'

const MAX_INTEGRATIONS = 50
const MAX_SHOWN_LETTERS = 1000

export interface RequestedIntegration {
  /** If absent, that of the type. */
  readonly kind: IntegrationKind | undefined
  readonly type: IntegrationType
  readonly name: string | undefined
  readonly endpoint: string | undefined
  readonly format: LogFormat | undefined
  readonly topics: readonly IntegrationTopic[] | undefined
  readonly config: Readonly<Record<string, unknown>>
}

/** The type, with a number if the name is taken. */
const freeName = (type: IntegrationType, taken: ReadonlySet<string>): string => {
  let name: string = type
  for (let number = 2; taken.has(name); number++) name = `${type} ${number}`
  return name
}

/** An integration as the API shows it. */
export interface IntegrationView extends StoredIntegration {
  readonly visibleConfig: Readonly<Record<string, string>>
  readonly backlog: Backlog
}

/** External receivers of an organization's events and metrics. */
export const createIntegrations = (
  { database, secrets, now, newId }: Context,
  {
    auditEnds,
    lastEvent,
    deliveries,
    allowPrivate,
  }: {
    /** Returns the current ends of the audit log's chains. */
    readonly auditEnds: (orgId: string | null) => Promise<Readonly<Record<string, number>>>
    /** Returns the position of the newest event. */
    readonly lastEvent: () => Promise<Position | null>
    readonly deliveries: Deliveries
    readonly allowPrivate: boolean
  },
) => {
  const get = async (caller: Caller, id: string, kind?: IntegrationKind): Promise<StoredIntegration> => {
    const found = isUuid(id) ? await integrationsStore.find(database.sql, id) : null
    if (found === null || !sees(caller, found.orgId)) throw notFound('Integration', id)
    if (kind !== undefined && found.kind !== kind) {
      throw badRequest(`kind: the integration '${found.name}' is of the kind ${found.kind}, not ${kind}.`)
    }
    return found
  }

  const view = async (stored: StoredIntegration): Promise<IntegrationView> => {
    const shown = await secrets.open(stored.config, stored.id).then(
      (text) => withoutSecrets(stored.type, JSON.parse(text)),
      (error: Error) => ({ error: error.message }),
    )
    const events = await deliveriesStore.backlog(database.sql, stored.id)
    const others = await integrationWork.backlog(database.sql, stored.id)
    const oldest = [events.oldest, others.oldest].filter((at) => at !== null).sort((a, b) => a.getTime() - b.getTime())
    const backlog = { ...events, pending: events.pending + others.pending, oldest: oldest[0] ?? null }
    return { ...stored, visibleConfig: shown, backlog }
  }

  const requireSendable = (endpoint: string): void => {
    try {
      requireAllowedHost(new URL(endpoint).hostname, allowPrivate)
    } catch (error) {
      if (error instanceof RefusedAddress) throw badRequest(`endpoint: ${error.message}`)
      throw error
    }
  }

  const readFormat = ({ type, format }: RequestedIntegration): LogFormat | null => {
    const { formats } = rulesOf(type)
    if (format === undefined) return formats[0] ?? null
    if (formats.includes(format)) return format
    const known = formats.length === 0 ? 'It has none: leave it out.' : `Use ${formats.join(' or ')}.`
    throw badRequest(`format: ${type} integrations do not have the format ${format}. ${known}`)
  }

  return {
    /**
     * Creates an integration. A webhook without a given secret gets a new one, which is shown only this once.
     * @throws conflict if the name is taken, or there are too many
     */
    async create(caller: Caller, requested: RequestedIntegration) {
      const { type, topics = null } = requested
      const { kind = rulesOf(type).kind } = requested
      if (rulesOf(type).kind !== kind) {
        const known = Object.entries(INTEGRATION_TYPES).filter(([, rules]) => rules.kind === kind)
        throw badRequest(
          `type: there is no ${kind} integration of type ${type}. Use ${known.map(([name]) => name).join(', ')}.`,
        )
      }
      if (topics !== null && kind !== 'logs') throw badRequest('topics: only log integrations have them.')
      const endpoint = readEndpoint(type, requested.endpoint)
      requireSendable(endpoint)
      const format = readFormat(requested)
      const given = readIntegrationConfig(type, requested.config)
      if (type === 'elasticsearch' && given.index !== undefined && isBulkAddress(endpoint)) {
        throw badRequest('config.index cannot be combined with an endpoint that ends with /_bulk. Remove one.')
      }
      const secret =
        type === 'webhook' && given.secret === undefined ? `whsec_${randomBytes(24).toString('base64')}` : null
      const orgId = homeOf(caller)
      const id = newId()
      const config = JSON.stringify(secret === null ? given : { ...given, secret })
      const unnamed: Omit<StoredIntegration, 'name'> = {
        id,
        orgId,
        kind,
        type,
        endpoint,
        format,
        config: await secrets.seal(config, id),
        isPaused: false,
        topics,
        // Earlier events are not sent.
        cursor: kind === 'logs' ? await lastEvent() : null,
        auditCursor: topics?.includes('audit') ? await auditEnds(orgId) : null,
        batch: null,
        failures: 0,
        lastError: null,
        lastErrorAt: null,
        deliveredAt: null,
        createdAt: now(),
      }
      const stored = await database.transaction(async (tx) => {
        const taken = await integrationsStore.lockNames(tx, orgId)
        if (taken.size >= MAX_INTEGRATIONS) {
          throw conflict(`There are ${MAX_INTEGRATIONS} integrations, which is the maximum. Delete one first.`)
        }
        const named = { ...unnamed, name: requested.name ?? freeName(type, taken) }
        await integrationsStore.insert(tx, named)
        auditNote({ ...named, kind: 'integration', after: auditedOf(named) })
        return named
      })
      return { integration: await view(stored), secret }
    },

    list: async (caller: Caller, kind: IntegrationKind | null): Promise<IntegrationView[]> =>
      Promise.all((await integrationsStore.list(database.sql, caller.orgId, kind)).map(view)),

    show: async (caller: Caller, id: string): Promise<IntegrationView> => view(await get(caller, id)),

    /** Events during a pause are delivered when it is resumed, if they are from the last 24 hours. */
    async setPaused(caller: Caller, id: string, isPaused: boolean): Promise<IntegrationView> {
      const before = await get(caller, id)
      await database.transaction(async (tx) => {
        await integrationsStore.setPaused(tx, before.id, isPaused, now())
        auditNote({ ...before, kind: 'integration', before: { isPaused: before.isPaused }, after: { isPaused } })
      })
      return view(await get(caller, id))
    },

    async delete(caller: Caller, id: string, kind?: IntegrationKind): Promise<IntegrationView> {
      const shown = await view(await get(caller, id, kind))
      await database.transaction(async (tx) => {
        if (!(await integrationsStore.delete(tx, shown.id))) throw notFound('Integration', id)
        auditNote({ ...shown, kind: 'integration', before: auditedOf(shown) })
      })
      return shown
    },

    async test(caller: Caller, id: string, kind?: IntegrationKind) {
      const started = performance.now()
      const outcome = await deliveries.test(await get(caller, id, kind))
      return { ...outcome, milliseconds: Math.round(performance.now() - started) }
    },

    async deadLetters(caller: Caller, id: string) {
      return deadLettersStore.deadLetters(database.sql, (await get(caller, id)).id, MAX_SHOWN_LETTERS)
    },

    async replay(caller: Caller, id: string) {
      const { delivered, outcome } = await deliveries.replay(await get(caller, id))
      const { deadLetters } = await deliveriesStore.backlog(database.sql, id)
      return { delivered, remaining: deadLetters, error: outcome === null ? null : reasonOf(outcome) }
    },
  }
}

/** Returns the fields of an integration in the audit log: of its address only the host, because the rest may be a secret. */
const auditedOf = ({ kind, type, name, endpoint, format, topics }: StoredIntegration) => ({
  kind,
  type,
  name,
  receiver: URL.canParse(endpoint) ? new URL(endpoint).host : endpoint.slice(0, 255),
  format,
  topics,
})

export type Integrations = ReturnType<typeof createIntegrations>
