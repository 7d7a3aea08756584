import { withoutDevicesWords } from '../../../domain/failure-reasons.ts'
import type { Executor } from '../../../platform/db/open.ts'
import { beforeCommit, onCommit } from '../../../platform/db/transactions.ts'
import type { Context } from '../../context.ts'
import type { ControlEventBus, ControlEvents, RoundFacts } from '../../events.ts'
import { foreignOrderStore } from './foreign-order.store.ts'
import { type NewEvent, outboxStore } from './outbox.store.ts'

export type { Position } from './outbox.store.ts'

const RETENTION_MS = 24 * 60 * 60 * 1000
const RETIRED_AT_ONCE = 1000

const ofRound = (
  type: 'round.started' | 'round.collected' | 'round.completed' | 'round.failed',
  round: RoundFacts,
  payload: NewEvent['payload'] = {},
): NewEvent => ({
  orgId: round.orgId,
  federationId: round.federationId,
  type,
  subject: { kind: 'round', id: round.id },
  payload: { round_number: round.roundNumber, job_id: round.jobId, ...payload },
})

const ofModel = (
  type: 'model.created' | 'model.version_added' | 'model.version_converted' | 'model.alias_moved',
  modelId: string,
  { orgId, federationId = null }: { readonly orgId: string | null; readonly federationId?: string | null },
  payload: NewEvent['payload'] = {},
): NewEvent => ({
  orgId,
  federationId,
  type,
  subject: { kind: 'model', id: modelId },
  payload,
})

/** A round's noise was booked when it started, whatever its result. */
const ofSpending = ({ id, orgId, federationId, isPrivate }: RoundFacts): readonly NewEvent[] =>
  !isPrivate || federationId === null
    ? []
    : [
        {
          orgId,
          federationId,
          type: 'privacy.spent',
          subject: { kind: 'federation', id: federationId },
          payload: { round_id: id },
        },
      ]

const ofFile = (type: 'file.damaged' | 'file.repaired', sha256: string, payload: NewEvent['payload']): NewEvent => ({
  orgId: null,
  federationId: null,
  type,
  subject: { kind: 'file', id: sha256 },
  payload,
})

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
      ...[...rounds.values()].map(
        ({ id, orgId, federationId, jobId }): NewEvent => ({
          orgId,
          federationId,
          type: 'update.accepted',
          subject: { kind: 'round', id },
          payload: { job_id: jobId },
        }),
      ),
      ...[...registered].map(
        ([orgId, count]): NewEvent => ({
          orgId,
          federationId: null,
          type: 'device.registered',
          subject: { kind: 'device', id: null },
          payload: { count },
        }),
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
    { orgId, federationId, type: 'job.changed', subject: { kind: 'job', id }, payload: { status } },
  ])
  record('approval.changed', ({ id, orgId, kind, status }) => [
    {
      orgId,
      federationId: null,
      type: 'approval.changed',
      subject: { kind: 'approval', id },
      payload: { kind, status },
    },
  ])
  record('model.created', ({ modelId, orgId }) => [ofModel('model.created', modelId, { orgId })])
  record('version.added', ({ modelId, orgId, version }) => [
    ofModel('model.version_added', modelId, { orgId }, { version }),
  ])
  record('conversion.ended', ({ modelId, orgId, version, format, state }) => [
    ofModel('model.version_converted', modelId, { orgId }, { version, format, state }),
  ])
  record('alias.moved', ({ modelId, orgId, alias, version }) => [
    ofModel('model.alias_moved', modelId, { orgId }, { alias, version }),
  ])
  record('plan.changed', ({ kind, id, orgId, status, percentage, modelId }) => [
    {
      orgId,
      federationId: null,
      type: `${kind}.changed`,
      subject: { kind, id },
      payload: {
        status,
        ...(percentage === undefined ? {} : { percentage }),
        ...(modelId === undefined ? {} : { model_id: modelId }),
      },
    },
  ])
  record('group.changed', ({ groupId, orgId }) => [
    { orgId, federationId: null, type: 'group.changed', subject: { kind: 'group', id: groupId }, payload: {} },
  ])

  record('file.damaged', ({ sha256, damage }) => [ofFile('file.damaged', sha256, { damage })])
  record('file.repaired', ({ sha256 }) => [ofFile('file.repaired', sha256, {})])

  record('federation.changed', ({ federationId, orgIds }) =>
    orgIds.map((orgId) => ({
      orgId,
      federationId: null,
      type: 'federation.changed',
      subject: { kind: 'federation', id: federationId },
      payload: {},
    })),
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
      const order = foreignOrderStore
      await database.transaction((tx) => order.renumber(tx))
    },

    /** Deletes events older than a day. */
    async retire(): Promise<void> {
      const before = new Date(now().getTime() - RETENTION_MS)
      while ((await outboxStore.retire(database.sql, before, RETIRED_AT_ONCE)) === RETIRED_AT_ONCE);
    },
  }
}
