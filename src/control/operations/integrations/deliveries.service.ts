import { retryAfterMs } from '../../../domain/integration.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Secrets } from '../../../platform/secrets.ts'
import { auditNote } from '../../audit-note.ts'
import type { StateMetrics } from '../metrics/state-metrics.service.ts'
import type { IntegrationsStore, LeasedIntegration, StoredIntegration } from './integrations.store.ts'
import { type LogEvent, logMessages, type Receiver } from './log-messages.ts'
import { metricMessages } from './metric-messages.ts'
import { type Message, type Outcome, send } from './send.ts'

const AT_ONCE = 16
const EVENTS_AT_ONCE = 100
const METRICS_EVERY_MS = 60_000
const MAX_DEAD_LETTERS = 10_000
const MAX_REASON = 500

const reasonOf = ({ status, response }: Outcome): string =>
  (status === null ? response : `The receiver answered ${status}: ${response.trim() || 'nothing'}`).slice(0, MAX_REASON)

/** Brings events and figures to the receivers of integrations: events at least once and in order, figures every minute. */
export const createDeliveries = (parts: {
  readonly database: Database
  readonly store: IntegrationsStore
  readonly secrets: Secrets
  readonly metrics: Pick<StateMetrics, 'samples'>
  readonly allowPrivate: boolean
  readonly log: { error(fields: object, message: string): void }
  readonly now: () => Date
}) => {
  const { database, store, secrets, metrics, allowPrivate, log, now } = parts
  const stop = new AbortController()

  const receiverOf = async (integration: StoredIntegration): Promise<Receiver> => ({
    id: integration.id,
    type: integration.type,
    endpoint: integration.endpoint,
    format: integration.format,
    config: JSON.parse(await secrets.open(integration.config, integration.id)),
  })

  /** One after another; the first that fails decides. */
  const sendAll = async (messages: readonly Message[]): Promise<Outcome> => {
    let last: Outcome = {
      ok: true,
      status: null,
      response: 'There was nothing to send.',
      isFinal: false,
      retryAfterMs: null,
    }
    for (const message of messages) {
      last = await send(message, allowPrivate, stop.signal)
      if (!last.ok) return last
    }
    return last
  }

  const after = (ms: number): Date => new Date(now().getTime() + ms)

  const fail = (integration: LeasedIntegration, outcome: Outcome): Promise<void> =>
    store.failed(database.sql, integration, {
      error: reasonOf(outcome),
      now: now(),
      nextAt: after(Math.max(outcome.retryAfterMs ?? 0, retryAfterMs(integration.failures + 1))),
    })

  const deliverMetrics = async (integration: LeasedIntegration): Promise<void> => {
    const samples = await metrics.samples(integration.orgId)
    const outcome = await sendAll(metricMessages(await receiverOf(integration), samples, now()))
    if (!outcome.ok) return fail(integration, outcome)
    await store.delivered(database.sql, integration, null, now(), after(METRICS_EVERY_MS))
  }

  const deliverLogs = async (integration: LeasedIntegration): Promise<void> => {
    const receiver = await receiverOf(integration)
    const found = await store.pendingEvents(database.sql, integration.id, EVENTS_AT_ONCE)
    if (found.length === 0) return
    const outcome = await sendAll(
      logMessages(
        receiver,
        found.map(({ event }) => event),
        now(),
      ),
    )
    if (outcome.ok) return store.delivered(database.sql, integration, found.at(-1)!.position, now(), now())
    if (!outcome.isFinal) return fail(integration, outcome)
    // Something in it cannot be taken: the first event alone tells whether it is that one.
    const [first] = found
    const alone = found.length === 1 ? outcome : await sendAll(logMessages(receiver, [first!.event], now()))
    if (alone.ok) return store.delivered(database.sql, integration, first!.position, now(), now())
    if (!alone.isFinal) return fail(integration, alone)
    const letter = { ...first!, reason: reasonOf(alone), now: now(), keep: MAX_DEAD_LETTERS }
    await database.transaction((tx) => store.setAside(tx, integration, letter))
  }

  /** One integration that cannot work must not keep the others from working. */
  const deliver = async (integration: LeasedIntegration): Promise<void> => {
    try {
      await (integration.kind === 'metrics' ? deliverMetrics(integration) : deliverLogs(integration))
    } catch (error) {
      log.error({ integration_id: integration.id, err: error }, 'an integration could not deliver; it will be retried')
      const response = 'Its settings could not be read, or the database did not respond: see the log of the service.'
      const outcome = { ok: false, status: null, response, isFinal: false, retryAfterMs: null }
      await fail(integration, outcome).catch(() => undefined)
    }
  }

  return {
    /** Delivers what is due. */
    async tick(): Promise<void> {
      if (stop.signal.aborted) return
      const due = await store.claim(database.sql, now(), AT_ONCE)
      await Promise.all(due.map(deliver))
    },

    /** Sends a sample now, and tells what the receiver said. */
    async test(integration: StoredIntegration): Promise<Outcome> {
      const receiver = await receiverOf(integration)
      const labels = { test: 'true' }
      const messages =
        integration.kind === 'metrics'
          ? metricMessages(
              receiver,
              [{ name: 'tributary_test', help: 'A test of the integration', labels, value: 1 }],
              now(),
            )
          : logMessages(receiver, [testEvent(integration, now())], now())
      return sendAll(messages)
    },

    /** Sends events that were set aside once more; returns how many were taken, and why the others were not. */
    async replay(integration: StoredIntegration): Promise<{ delivered: number; outcome: Outcome | null }> {
      const receiver = await receiverOf(integration)
      let delivered = 0
      for (const letter of await store.deadLetters(database.sql, integration.id, EVENTS_AT_ONCE)) {
        const outcome = await sendAll(logMessages(receiver, [letter.event], now()))
        if (!outcome.ok) return { delivered, outcome }
        await database.transaction(async (tx) => {
          await store.deleteDeadLetter(tx, letter.id)
          // The first that is delivered is written down with the request; that there may be more is its meaning.
          const { id, name, orgId } = integration
          auditNote({ kind: 'integration', id, name, orgId, before: { deadLetter: letter.id } })
        })
        delivered++
      }
      return { delivered, outcome: null }
    },

    reasonOf,

    /** Ends what is being sent: it is sent again by the next process. */
    close(): void {
      stop.abort(new Error('The service is stopping.'))
    },
  }
}

const testEvent = ({ id, orgId }: StoredIntegration, now: Date): LogEvent => ({
  id: 'test',
  type: 'integration.test',
  org_id: orgId,
  subject: { kind: 'integration', id },
  payload: { message: 'This is a test.' },
  time: now.toISOString(),
})

export type Deliveries = ReturnType<typeof createDeliveries>
