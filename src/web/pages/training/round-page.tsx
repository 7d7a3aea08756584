import { useMemo } from 'react'
import { DEFAULT_STRATEGY } from '../../../domain/strategy-rules.ts'
import { api, write } from '../../api/client.ts'
import { useIsOthers } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Id, useNow } from '../../parts/cells.tsx'
import { DetailPage } from '../../parts/detail-page.tsx'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { Empty, Facts, Figures, Note, Panel } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import { bytes, count, duration, elapsed, measure, percent, plural } from '../../text/format.ts'
import { outliers } from './outliers.ts'
import { participantColumns, type Row } from './participant-columns.tsx'
import { RoundBadge } from './round-columns.tsx'
import { figuresOf } from './round-figures.ts'
import { RoundMetrics } from './round-metrics.tsx'
import type { Round } from './training-records.ts'

const MAX_ROWS = 1000

const Cancel = ({ round }: { readonly round: Round }) => {
  const isOthers = useIsOthers()(round.org_id)
  if (round.status !== 'active' && round.status !== 'pending') return null
  const params = { path: { round_id: round.id } }
  return (
    <ConfirmButton
      button={{
        needs: 'training:write',
        tone: 'danger',
        ...(isOthers && { disabled: true, title: `Only ${round.org_id}, which started the round, can cancel it.` }),
      }}
      title={`Cancel round ${round.round_number}?`}
      verb="Cancel round"
      act={() => write(api.POST('/api/v1/training/rounds/{round_id}/cancel', { params }))}
    >
      {`The ${plural(round.completed_devices, 'update')} received so far will not be aggregated. ${
        round.job_id === undefined ? '' : 'The job continues with another round.'
      }`}
    </ConfirmButton>
  )
}

const Summary = ({ round }: { readonly round: Round }) => {
  const now = useNow(1000)
  return (
    <>
      <Figures
        entries={[
          [
            'Updates',
            <>
              {count(round.completed_devices)} <small>of {count(round.target_devices)}</small>
            </>,
          ],
          ['Failed devices', count(round.failed_devices)],
          ['Training loss', measure(round.loss)],
          ['Training accuracy', percent(round.accuracy)],
          ['Duration', duration(elapsed(round.started_at, round.ended_at, now))],
        ]}
      />
      <Panel title="Round">
        <Facts
          entries={[
            ['Strategy', round.strategy ?? DEFAULT_STRATEGY],
            ['Minimum updates', count(round.min_devices)],
            ['Started', <Ago key="started" time={round.started_at} />],
            [
              round.ended_at === null ? 'Times out' : 'Ended',
              <Ago key="end" time={round.ended_at ?? round.timeout_at} />,
            ],
            round.privacy?.epsilon !== undefined && ['Privacy spent', `ε ${measure(round.privacy.epsilon)}`],
            round.global_model_id !== null && ['From model', <Id key="from" id={round.global_model_id} />],
            round.aggregated_model_id !== null && ['Aggregated model', <Id key="to" id={round.aggregated_model_id} />],
            ['Round id', <Id key="id" id={round.id} />],
          ]}
        />
      </Panel>
    </>
  )
}

const useParts = ({ id }: Round) => {
  const params = { path: { round_id: id }, query: { limit: MAX_ROWS } }
  const participants = useApi('/api/v1/training/rounds/{round_id}/participants', params)
  return { participants, updates: useApi('/api/v1/training/rounds/{round_id}/updates', params) }
}

/** Durations by phase, and bytes sent; empty if the round's devices are not visible. */
const Phases = ({ round }: { readonly round: Round }) => {
  const { participants, updates } = useParts(round)
  const model = useApi(
    '/api/v1/models/{model_id}',
    { path: { model_id: round.global_model_id ?? '' } },
    { enabled: round.global_model_id !== null },
  )
  if (participants.data === undefined || updates.data === undefined) return null
  const figures = figuresOf(
    round,
    participants.data.participants,
    updates.data.updates,
    model.data?.versions.at(-1)?.model_size_bytes ?? null,
  )
  const isPartial = participants.data.total > MAX_ROWS
  return (
    <Panel title="Phases" aside={isPartial && `of the first ${MAX_ROWS} devices`}>
      <Facts
        entries={[
          ['First device fetched the model after', duration(figures.pickedUp)],
          ['Training and upload took', duration(figures.trained)],
          ['Aggregation took', duration(figures.aggregated)],
          ['Sent to devices', bytes(figures.downloadedBytes)],
          ['Received from devices', bytes(figures.uploadedBytes)],
        ]}
      />
    </Panel>
  )
}

const Participants = ({ round }: { readonly round: Round }) => {
  const { participants, updates } = useParts(round)
  const now = useNow()
  const isOthers = useIsOthers()
  const rows = useMemo((): readonly Row[] => {
    const sent = new Map((updates.data?.updates ?? []).map((update) => [update.device_id, update]))
    const list = (participants.data?.participants ?? []).map((participant) => ({
      participant,
      update: sent.get(participant.device_id) ?? null,
    }))
    const far = outliers(list.map(({ update }) => update?.norm ?? null))
    return list.map((row, index) => ({ ...row, isOutlier: far[index] ?? false }))
  }, [participants.data, updates.data])
  const isOver = round.ended_at !== null
  const end = round.ended_at === null ? now : new Date(round.ended_at)
  const columns = participantColumns(new Date(round.started_at ?? round.created_at), end, isOver, isOthers)
  const total = participants.data?.total ?? 0
  return (
    <LoadedTable
      title="Participants"
      aside={`${total > MAX_ROWS ? `the first ${MAX_ROWS} of ${count(total)}` : plural(total, 'device')}; norm: of an update’s change, cosine: to the median change`}
      query={participants}
      columns={columns}
      rows={() => rows}
      rowKey={({ participant }) => participant.device_id}
      empty={
        isOver ? (
          <Empty title="No participants">The round ended without any.</Empty>
        ) : (
          <Empty title="No participants yet">The round selects its participants from the eligible devices.</Empty>
        )
      }
    />
  )
}

/** A round: its results, and each device's part in it. */
export const RoundPage = ({ roundId }: { readonly roundId: string }) => {
  const query = useApi('/api/v1/training/rounds/{round_id}/status', { path: { round_id: roundId } })
  const job = query.data?.job_id
  return (
    <DetailPage
      query={query}
      title={({ round_number }) => `Round ${round_number}`}
      loading="Round"
      up={job === undefined ? ['/training', 'Training'] : [`/training/jobs/${job}`, 'Job']}
      badge={RoundBadge}
      actions={(round) => <Cancel round={round} />}
    >
      {(round) => (
        <>
          <Note title="Why it failed" text={round.failure_reason} />
          <Summary round={round} />
          <RoundMetrics round={round} />
          <Phases round={round} />
          <Participants round={round} />
        </>
      )}
    </DetailPage>
  )
}
