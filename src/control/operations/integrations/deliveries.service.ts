import { setMaxListeners } from 'node:events'
import { retryAfterMs } from '../../../domain/integration.ts'
import { auditNote } from '../../audit-note.ts'
import type { Context } from '../../context.ts'
import type { StateMetrics } from '../metrics/state-metrics.service.ts'
import { deadLettersStore } from './dead-letters.store.ts'
import { deliveriesStore, type LeasedIntegration, type PlacedEvent } from './deliveries.store.ts'
import type { StoredIntegration } from './integrations.store.ts'
import type { LogEvents } from './log-events.service.ts'
import { type LogEvent, logMessages, type Receiver } from './log-messages.ts'
import { metricMessages } from './metric-messages.ts'
import { createPartialSuccesses } from './partial-success.ts'
import { failed, MAX_SENDING_MS, type Message, type Outcome, outcomeOf, reasonOf, send, Unsuccessful } from './send.ts'
import type { TrainingRuns } from './training-runs.service.ts'

const AT_ONCE = 24
/** How many of these may be first deliveries, and how many retries, so that receivers that hang leave places for the others. */
const FIRST_AT_ONCE = 8
const RETRIES_AT_ONCE = 8
const LETTERS_AT_ONCE = 100
const METRICS_EVERY_MS = 60_000

interface DeliveryParts {
  readonly events: LogEvents
  readonly metrics: Pick<StateMetrics, 'samples'>
  readonly runs: TrainingRuns
  readonly allowPrivate: boolean
}

/** Sends events again that were set aside; returns how many were accepted, and why the others were not. */
const createReplay =
  (
    { database, now }: Context,
    {
      runs,
      receiverOf,
      sender,
      sendAll,
    }: Pick<DeliveryParts, 'runs'> & {
      readonly receiverOf: (integration: StoredIntegration) => Promise<Receiver>
      readonly sender: () => (message: Message) => Promise<Outcome>
      readonly sendAll: (receiver: Receiver, messages: readonly Message[]) => Promise<Outcome>
    },
  ) =>
  async (integration: StoredIntegration): Promise<{ delivered: number; outcome: Outcome | null }> => {
    const receiver = await receiverOf(integration).catch(outcomeOf)
    if ('ok' in receiver) return { delivered: 0, outcome: receiver }
    let delivered = 0
    let after = 0
    for (let sent = 0; sent < LETTERS_AT_ONCE; sent++) {
      const letter = await deadLettersStore.claimDeadLetter(database.sql, integration.id, after)
      if (letter === null) break
      after = letter.id
      const outcome = await (integration.kind === 'training'
        ? runs.deliver(receiver, letter.event.subject.id!, sender())
        : sendAll(receiver, logMessages(receiver, [letter.event], now())))
      if (!outcome.ok) {
        await deadLettersStore.releaseDeadLetter(database.sql, letter)
        return { delivered, outcome }
      }
      const isOurs = await database.transaction(async (tx) => {
        if (!(await deadLettersStore.deleteDeadLetter(tx, letter))) return false
        // Only the first delivered one is recorded with the request, which means that there may be more.
        const { id, name, orgId } = integration
        auditNote({ kind: 'integration', id, name, orgId, before: { deadLetter: letter.id } })
        return true
      })
      if (isOurs) delivered++
    }
    return { delivered, outcome: null }
  }

/** Delivers events, metrics, and training runs to the receivers of integrations: events at least once, metrics every minute. */
export const createDeliveries = (context: Context, { events, metrics, runs, allowPrivate }: DeliveryParts) => {
  const { database, secrets, log, now } = context
  const stop = new AbortController()
  // Each request that is being sent listens; Node takes more than ten for a leak.
  setMaxListeners(0, stop.signal)
  const running = new Map<Promise<void>, LeasedIntegration>()

  const openConfig = ({ config, id }: StoredIntegration): Promise<string> =>
    secrets.open(config, id).catch((error: Error) => Promise.reject(new Unsuccessful(failed(error.message))))

  const receiverOf = async (integration: StoredIntegration): Promise<Receiver> => ({
    id: integration.id,
    type: integration.type,
    endpoint: integration.endpoint,
    format: integration.format,
    config: JSON.parse(await openConfig(integration)),
  })

  /** Returns a sender for requests that depend on each other: all of them must fit within a lease. */
  const sender = () => {
    const end = performance.now() + MAX_SENDING_MS
    return (message: Message): Promise<Outcome> => send(message, allowPrivate, stop.signal, end - performance.now())
  }

  const tellPartialSuccess = createPartialSuccesses(log)

  /** Sends messages one after another, up to the first that fails. */
  const sendAll = async (receiver: Receiver, messages: readonly Message[], sendOne = sender()): Promise<Outcome> => {
    let last: Outcome = { ...failed('There was nothing to send.'), ok: true }
    for (const message of messages) {
      last = await sendOne(message)
      if (!last.ok) return last
      tellPartialSuccess(receiver, message, last)
    }
    return last
  }

  const after = (ms: number): Date => new Date(now().getTime() + ms)

  const fail = (integration: LeasedIntegration, outcome: Outcome): Promise<void> => {
    // Aborted by the service, not by the receiver.
    if (stop.signal.aborted) return deliveriesStore.release(database.sql, integration)
    return deliveriesStore.failed(database.sql, integration, {
      error: reasonOf(outcome),
      now: now(),
      nextAt: after(Math.max(outcome.retryAfterMs ?? 0, retryAfterMs(integration.failures + 1))),
    })
  }

  const deliverMetrics = async (integration: LeasedIntegration): Promise<void> => {
    const samples = await metrics.samples(integration.orgId)
    const receiver = await receiverOf(integration)
    const outcome = await sendAll(receiver, metricMessages(receiver, samples, now()))
    if (!outcome.ok) return fail(integration, outcome)
    await deliveriesStore.delivered(database.sql, integration, [], now(), after(METRICS_EVERY_MS))
  }

  const deliverLogs = async (integration: LeasedIntegration): Promise<void> => {
    const receiver = await receiverOf(integration)
    const found = await events.pending(integration)
    const moveOn = (placed: readonly PlacedEvent[]): Promise<void> => {
      const places = placed.map(({ place }) => place)
      return deliveriesStore.delivered(database.sql, integration, places, now(), now())
    }
    const [sendOne, until] = [sender(), performance.now() + MAX_SENDING_MS / 2]
    const sendEvents = (placed: readonly PlacedEvent[]): Promise<Outcome> => {
      const sent = placed.map(({ event }) => event)
      return sendAll(receiver, logMessages(receiver, sent, now()), sendOne)
    }
    for (let part = found; part.length > 0; part = part.slice(0, Math.ceil(part.length / 2))) {
      const places = part.map(({ place }) => place)
      // Other receivers identify single events; of these, only parts of a rejected batch are recorded.
      if (receiver.type === 'webhook' || part !== found)
        await deliveriesStore.sending(database.sql, integration, places)
      // The receiver is slow: the next delivery continues with this part, before the lease ends.
      if (part !== found && performance.now() > until) return deliveriesStore.release(database.sql, integration)
      const outcome = await sendEvents(part)
      if (outcome.ok) return moveOn(part)
      if (!outcome.isFinal) return fail(integration, outcome)
      // The receiver rejects something in it: ever smaller parts show which event.
      if (part.length > 1) continue
      const letter = { ...part[0]!, reason: reasonOf(outcome), now: now() }
      await database.transaction((tx) => deliveriesStore.setAside(tx, integration, letter))
      return
    }
  }

  const deliverTraining = async (integration: LeasedIntegration): Promise<void> => {
    const outcome = await runs.deliverDue(integration, await receiverOf(integration), sender())
    if (!outcome.ok) return fail(integration, outcome)
    await deliveriesStore.delivered(database.sql, integration, [], now(), now())
  }

  const deliverBy = { metrics: deliverMetrics, logs: deliverLogs, training: deliverTraining }

  /** Delivers for one integration, and catches errors, which must not stop the others. */
  const deliver = async (integration: LeasedIntegration): Promise<void> => {
    try {
      await deliverBy[integration.kind](integration)
    } catch (error) {
      let outcome = failed('The database did not respond: see the log of the service.')
      if (error instanceof Unsuccessful) outcome = error.outcome
      else
        log.error(
          { integration_id: integration.id, err: error },
          'an integration could not deliver; it will be retried',
        )
      // Otherwise the lease ends by itself.
      await fail(integration, outcome).catch(() => undefined)
    }
  }

  return {
    /** Starts to deliver what is due. Does not wait: a receiver that hangs must not delay the others. */
    async tick(): Promise<void> {
      const limit = AT_ONCE - running.size
      if (stop.signal.aborted || limit === 0) return
      const busy = [...running.values()]
      const retries = RETRIES_AT_ONCE - busy.filter(({ failures }) => failures > 0).length
      const first =
        FIRST_AT_ONCE - busy.filter(({ failures, deliveredAt }) => failures === 0 && deliveredAt === null).length
      const withWork = await runs.withWork()
      const wanted = { now: now(), limit, first, retries, withWork }
      for (const integration of await deliveriesStore.claim(database.sql, wanted)) {
        const delivery = deliver(integration).finally(() => running.delete(delivery))
        running.set(delivery, integration)
      }
    },

    /** Waits for the running deliveries. */
    async settled(): Promise<void> {
      await Promise.all(running.keys())
    },

    /** Sends a sample now, and returns the receiver's response. */
    async test(integration: StoredIntegration): Promise<Outcome> {
      const receiver = await receiverOf(integration).catch(outcomeOf)
      if ('ok' in receiver) return receiver
      if (integration.kind === 'training') return runs.test(receiver, sender())
      const messages =
        integration.kind === 'metrics'
          ? metricMessages(receiver, [TEST_SAMPLE], now())
          : logMessages(receiver, [testEvent(integration, now())], now())
      return sendAll(receiver, messages)
    },

    replay: createReplay(context, { runs, receiverOf, sender, sendAll }),

    /** Aborts what is being sent: the next process sends it again. */
    close(): void {
      stop.abort(new Error('The service is stopping.'))
    },
  }
}

const TEST_SAMPLE = { name: 'tributary_test', help: 'A test of the integration', labels: { test: 'true' }, value: 1 }

const testEvent = ({ id, orgId }: StoredIntegration, now: Date): LogEvent => ({
  id: 'test',
  type: 'integration.test',
  org_id: orgId,
  subject: { kind: 'integration', id },
  payload: { message: 'This is a test.' },
  time: now.toISOString(),
})

export type Deliveries = ReturnType<typeof createDeliveries>
