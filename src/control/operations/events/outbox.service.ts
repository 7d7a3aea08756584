import { withoutDevicesWords } from '../../../domain/failure-reasons.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { beforeCommit, onCommit } from '../../../platform/db/transactions.ts'
import type { Context } from '../../context.ts'
import type { ControlEventBus, ControlEvents, RoundFacts } from '../../events.ts'
import { foreignOrderStore } from './foreign-order.store.ts'
import { type NewEvent, outboxStore } from './outbox.store.ts'

export { isLater, type Position } from './outbox.store.ts'

const RETENTION_MS = 24 * 60 * 60 * 1000
const RETIRED_AT_ONCE = 1000

type Audience = Pick<NewEvent, 'orgId'> & Partial<Pick<NewEvent, 'federationId'>>

const eventOf = (
  type: string,
  subject: NewEvent['subject'],
  { orgId, federationId = null }: Audience,
  payload: NewEvent['payload'] = {},
): NewEvent => ({ orgId, federationId, type, subject, payload })

const ofRound = (
  type: 'round.started' | 'round.collected' | 'round.completed' | 'round.failed',
  round: RoundFacts,
  payload: NewEvent['payload'] = {},
): NewEvent => {
  const { id, roundNumber: round_number, jobId: job_id } = round
  return eventOf(type, { kind: 'round', id }, round, { round_number, job_id, ...payload })
}

const ofModel = (
  type: `model.${'created' | 'changed' | 'version_added' | 'version_changed' | 'version_deleted' | 'version_converted' | 'alias_moved'}`,
  modelId: string,
  audience: Audience,
  payload: NewEvent['payload'] = {},
): NewEvent => eventOf(type, { kind: 'model', id: modelId }, audience, payload)

/** A round's noise was booked when it started, whatever its result. */
const ofSpending = (round: RoundFacts): readonly NewEvent[] =>
  !round.isPrivate || round.federationId === null
    ? []
    : [eventOf('privacy.spent', { kind: 'federation', id: round.federationId }, round, { round_id: round.id })]

const ofFile = (type: 'file.damaged' | 'file.repaired', sha256: string, payload: NewEvent['payload']): NewEvent =>
  eventOf(type, { kind: 'file', id: sha256 }, { orgId: null }, payload)

/** Counts what happens to thousands of devices; returns a function that takes the counts, with a way to put them back. */
const countHints = (events: Pick<ControlEventBus, 'afterCommit'>) => {
  let rounds = new Map<string, RoundFacts>()
  let registered = new Map<string | null, number>()
  events.afterCommit('updates.accepted', (accepted) => {
    for (const round of accepted.rounds) rounds.set(round.id, round)
  })
  events.afterCommit('devices.registered', ({ orgIds }) => {
    for (const orgId of orgIds) registered.set(orgId, (registered.get(orgId) ?? 0) + 1)
  })

  return (): { hints: NewEvent[]; putBack: () => void } => {
    const [takenRounds, takenRegistered] = [rounds, registered]
    const hints = [
      ...[...rounds.values()].map((round) =>
        eventOf('update.accepted', { kind: 'round', id: round.id }, round, { job_id: round.jobId }),
      ),
      ...[...registered].map(([orgId, count]) =>
        eventOf('device.registered', { kind: 'device', id: null }, { orgId }, { count }),
      ),
    ]
    rounds = new Map()
    registered = new Map()
    const putBack = (): void => {
      rounds = new Map([...takenRounds, ...rounds])
      for (const [orgId, count] of takenRegistered) registered.set(orgId, (registered.get(orgId) ?? 0) + count)
    }
    return { hints, putBack }
  }
}

/**
 * Writes events for external followers in the transactions that cause them, one statement for each transaction. What happens
 * to thousands of devices at a time, updates and registrations, is counted in memory and written once a second; a crash
 * loses such a hint, and readers see the change when they next look.
 */
export const createOutbox = ({ database, events, now }: Context) => {
  const written = new WeakMap<Executor, Map<string, NewEvent>>()

  /** Of several events of one type about one subject, keeps the last. */
  const write = (tx: Executor, event: NewEvent): void => {
    let rows = written.get(tx)
    if (rows === undefined) {
      const added = new Map<string, NewEvent>()
      written.set(tx, (rows = added))
      beforeCommit(() => outboxStore.insertAll(tx, [...added.values()], now()))
      onCommit(async () => database.hints.send('events'))
    }
    const { type, subject, orgId } = event
    rows.set(`${type} ${subject.kind} ${subject.id} ${orgId}`, event)
  }

  const record = <Type extends keyof ControlEvents>(
    type: Type,
    describe: (event: ControlEvents[Type]) => readonly NewEvent[],
  ): void =>
    events.inTransaction(type, async (tx, event) => {
      for (const each of describe(event)) write(tx, each)
    })

  record('round.started', (round) => [ofRound('round.started', round), ...ofSpending(round)])
  record('round.collected', (round) => [ofRound('round.collected', round)])
  record('round.completed', (round) => [
    ofRound('round.completed', round, { model_id: round.modelId }),
    ofModel('model.version_added', round.modelId, round, { version: 1 }),
  ])
  record('round.failed', (round) => [ofRound('round.failed', round, { reason: withoutDevicesWords(round.reason) })])
  record('job.changed', ({ id, orgId, federationId, status }) => [
    eventOf('job.changed', { kind: 'job', id }, { orgId, federationId }, { status }),
  ])
  record('approval.changed', ({ id, orgId, kind, status }) => [
    eventOf('approval.changed', { kind: 'approval', id }, { orgId }, { kind, status }),
  ])
  record('model.created', ({ modelId, orgId }) => [ofModel('model.created', modelId, { orgId })])
  record('model.changed', ({ modelId, orgId }) => [ofModel('model.changed', modelId, { orgId })])
  record('version.added', ({ modelId, orgId, version }) => [
    ofModel('model.version_added', modelId, { orgId }, { version }),
  ])
  record('version.changed', ({ modelId, orgId, version }) => [
    ofModel('model.version_changed', modelId, { orgId }, { version }),
  ])
  record('version.deleted', ({ modelId, orgId, version }) => [
    ofModel('model.version_deleted', modelId, { orgId }, { version }),
  ])
  record('conversion.ended', ({ modelId, orgId, version, format, state }) => [
    ofModel('model.version_converted', modelId, { orgId }, { version, format, state }),
  ])
  record('alias.moved', ({ modelId, orgId, alias, version }) => [
    ofModel('model.alias_moved', modelId, { orgId }, { alias, version }),
  ])
  record('plan.changed', ({ kind, id, orgId, status, percentage, modelId }) => [
    eventOf(
      `${kind}.changed`,
      { kind, id },
      { orgId },
      {
        status,
        ...(percentage === undefined ? {} : { percentage }),
        ...(modelId === undefined ? {} : { model_id: modelId }),
      },
    ),
  ])
  record('device.erased', ({ deviceId, orgId }) => [
    eventOf('device.erased', { kind: 'device', id: deviceId }, { orgId }),
  ])
  record('group.changed', ({ groupId, orgId }) => [eventOf('group.changed', { kind: 'group', id: groupId }, { orgId })])

  record('file.damaged', ({ sha256, damage }) => [ofFile('file.damaged', sha256, { damage })])
  record('file.repaired', ({ sha256 }) => [ofFile('file.repaired', sha256, {})])

  record('federation.changed', ({ federationId, orgIds }) =>
    orgIds.map((orgId) => eventOf('federation.changed', { kind: 'federation', id: federationId }, { orgId })),
  )

  const takeHints = countHints(events)

  return {
    /** Writes the events that were only counted. */
    async flush(): Promise<void> {
      const { hints, putBack } = takeHints()
      if (hints.length === 0) return
      try {
        await outboxStore.insertAll(database.sql, hints, now())
      } catch (error) {
        putBack()
        throw error
      }
      database.hints.send('events')
    },

    /** Renumbers events that a dump brought from another server. */
    async takeOver(): Promise<void> {
      await database.transaction((tx) => foreignOrderStore.renumber(tx))
    },

    /** Deletes events older than a day. */
    async retire(): Promise<void> {
      const before = new Date(now().getTime() - RETENTION_MS)
      while ((await outboxStore.retire(database.sql, before, RETIRED_AT_ONCE)) === RETIRED_AT_ONCE);
    },
  }
}
