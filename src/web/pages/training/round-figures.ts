import { duration, elapsed } from '../../text/format.ts'
import type { JobRound, Participant, Round, Update } from './training-records.ts'

/** A job's page and curves show at most its latest rounds. */
export const MAX_ROUNDS = 1000

/** Durations of a round's phases in milliseconds, and bytes sent; null while unknown. */
export interface RoundFigures {
  /** Until the first device fetched the model. */
  readonly pickedUp: number | null
  /** From the first model fetched to the last update received. */
  readonly trained: number | null
  /** From the last update to the new model. */
  readonly aggregated: number | null
  /** For all listed updates. */
  readonly uploadedBytes: number
  /** The model's size times the devices that fetched it; null if its size is unknown. */
  readonly downloadedBytes: number | null
}

const times = (texts: readonly (string | null)[]): readonly number[] =>
  texts.flatMap((text) => (text === null ? [] : [Date.parse(text)]))

const between = (from: number, to: number): number | null =>
  Number.isFinite(from) && Number.isFinite(to) ? Math.max(0, to - from) : null

/** Numbers the latest rounds of a job, newest first. `total` includes those that are not listed. */
export const jobRoundsOf = (response: { readonly rounds: readonly Round[]; readonly total: number }): JobRound[] =>
  [...response.rounds]
    .sort((a, b) => b.round_number - a.round_number)
    .map((round, index) => ({ ...round, jobRound: response.total - index }))

/** How long a job's rounds took together, in milliseconds, without the time it waited between them; null before the first. */
export const timeInRounds = (rounds: readonly Pick<Round, 'started_at' | 'ended_at'>[], now: Date): number | null => {
  const each = rounds.flatMap(({ started_at, ended_at }) => elapsed(started_at, ended_at, now) ?? [])
  return each.length === 0 ? null : each.reduce((sum, ms) => sum + ms, 0)
}

/** @param modelBytes size of the model that the round distributes */
export const figuresOf = (
  round: Pick<Round, 'started_at' | 'completed_at'>,
  participants: readonly Pick<Participant, 'model_fetched_at'>[],
  updates: readonly Pick<Update, 'created_at' | 'model_size_bytes'>[],
  modelBytes: number | null,
): RoundFigures => {
  const fetched = times(participants.map(({ model_fetched_at }) => model_fetched_at))
  const firstFetch = Math.min(...fetched)
  const lastUpdate = Math.max(...times(updates.map(({ created_at }) => created_at)))
  const [start = Number.NaN] = times([round.started_at])
  const [end = Number.NaN] = times([round.completed_at])
  return {
    pickedUp: between(start, firstFetch),
    trained: between(Number.isFinite(firstFetch) ? firstFetch : start, lastUpdate),
    aggregated: between(lastUpdate, end),
    uploadedBytes: updates.reduce((sum, { model_size_bytes }) => sum + model_size_bytes, 0),
    downloadedBytes: modelBytes === null ? null : modelBytes * fetched.length,
  }
}

type Times = Pick<Participant, 'state' | 'selected_at' | 'model_fetched_at' | 'reported_at'>

/**
 * Says when a participant fetched the model and delivered its update, or how its part ended. `reported_at` is also when the
 * service gave up on a device that reported nothing, such as at the round's timeout.
 */
export const timesOf = ({ state, selected_at, model_fetched_at, reported_at }: Times, isOver: boolean): string => {
  const missing = isOver || state === 'failed' ? 'never' : 'not yet'
  const since = (time: string | null): string =>
    time === null ? missing : `after ${duration(Date.parse(time) - Date.parse(selected_at))}`
  const isDelivered = state === 'delivered'
  const ended = isDelivered || reported_at === null ? '' : `, ${state} ${since(reported_at)}`
  return `Model fetched: ${since(model_fetched_at)}; update delivered: ${isDelivered ? since(reported_at) : missing}${ended}`
}
