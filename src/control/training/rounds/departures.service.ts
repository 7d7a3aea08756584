import { departed } from '../../../domain/failure-reasons.ts'
import { IN_PROGRESS } from '../../../domain/round.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { evaluationsStore } from './evaluations.store.ts'
import { participantsReport } from './participants.report.ts'
import { participantsStore } from './participants.store.ts'
import type { RoundEndings } from './round-endings.service.ts'
import { roundsReport } from './rounds.report.ts'
import { roundsStore, type StoredRound } from './rounds.store.ts'

/**
 * Handles an organization's departure from a federation: ends the rounds that it started, unless they are already
 * aggregating, and withdraws its devices from the other rounds. Updates that they submitted as members count.
 */
export const endDepartures = (
  { events, now }: Context,
  { endings }: { readonly endings: Pick<RoundEndings, 'fail'> },
): void => {
  const end = async (tx: Executor, round: StoredRound): Promise<void> => {
    const reason = `'${round.orgId}', which started the round, is no longer a member of the federation.`
    await endings.fail(tx, round, { event: 'fail', reason, reported: reason, cancelled: true })
  }

  const withdraw = async (tx: Executor, round: StoredRound, orgId: string): Promise<void> => {
    const deviceIds = await participantsReport.devicesOf(tx, round.id, orgId)
    await evaluationsStore.excuse(tx, round.id, deviceIds)
    if (round.status !== 'active' && !(round.status === 'aggregating' && round.plan.asynchronous)) return
    const left = await participantsStore.failAll(tx, round.id, { deviceIds, reason: departed(orgId) }, now())
    if (left.failed === 0) return
    await roundsStore.update(tx, round.id, {
      taking_part: round.takingPart - left.places,
      failed_devices: round.failedDevices + left.failed,
      ...(round.reviewAt !== null && { review_at: now() }),
    })
    await events.publish(tx, 'round.places_freed', { id: round.id })
  }

  events.inTransaction('member.left', async (tx, { federationId, orgId }) => {
    for (const round of await roundsStore.lockAll(tx, await roundsReport.openOf(tx, federationId))) {
      const isOwn = round.orgId === orgId && IN_PROGRESS.includes(round.status) && round.status !== 'aggregating'
      await (isOwn ? end(tx, round) : withdraw(tx, round, orgId))
    }
  })
}
