import { departed } from '../../../domain/failure-reasons.ts'
import { IN_PROGRESS } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { ControlEventBus } from '../../events.ts'
import type { EvaluationsStore } from './evaluations.store.ts'
import type { ParticipantsReport } from './participants.report.ts'
import type { ParticipantsStore } from './participants.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import type { RoundsReport } from './rounds.report.ts'
import type { RoundsStore, StoredRound } from './rounds.store.ts'

/**
 * Handles an organization's departure from a federation: ends the rounds that it started, unless they are already
 * aggregating, and withdraws its devices from the other rounds. Updates that they submitted as members count.
 */
export const endDepartures = (parts: {
  readonly store: Pick<RoundsStore, 'lockAll' | 'update'>
  readonly roundsReport: Pick<RoundsReport, 'openOf'>
  readonly participants: Pick<ParticipantsStore, 'failAll'>
  readonly participantsReport: Pick<ParticipantsReport, 'devicesOf'>
  readonly evaluations: Pick<EvaluationsStore, 'excuse'>
  readonly endings: Pick<RoundEndings, 'fail'>
  readonly events: Pick<ControlEventBus, 'inTransaction' | 'publish'>
  readonly now: () => Date
}): void => {
  const { store, roundsReport, participants, participantsReport, evaluations, endings, events, now } = parts

  const end = async (tx: Executor, round: StoredRound): Promise<void> => {
    const reason = `'${round.orgId}', which started the round, is no longer a member of the federation.`
    await endings.fail(tx, round, { event: 'fail', reason, reported: reason, cancelled: true })
  }

  const withdraw = async (tx: Executor, round: StoredRound, orgId: string): Promise<void> => {
    const deviceIds = await participantsReport.devicesOf(tx, round.id, orgId)
    await evaluations.excuse(tx, round.id, deviceIds)
    if (round.status !== 'active' && !(round.status === 'aggregating' && round.plan.asynchronous)) return
    const left = await participants.failAll(tx, round.id, { deviceIds, reason: departed(orgId) }, now())
    if (left.failed === 0) return
    await store.update(tx, round.id, {
      taking_part: round.takingPart - left.places,
      failed_devices: round.failedDevices + left.failed,
      ...(round.reviewAt !== null && { review_at: now() }),
    })
    await events.publish(tx, 'round.places_freed', { id: round.id })
  }

  events.inTransaction('member.left', async (tx, { federationId, orgId }) => {
    for (const round of await store.lockAll(tx, await roundsReport.openOf(tx, federationId))) {
      const isOwn = round.orgId === orgId && IN_PROGRESS.includes(round.status) && round.status !== 'aggregating'
      await (isOwn ? end(tx, round) : withdraw(tx, round, orgId))
    }
  })
}
