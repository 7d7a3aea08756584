import type { Participant, Round, Update } from './training-records.ts'

/** How long the parts of a round took, in milliseconds, and what was sent; null while it is not known. */
export interface RoundFigures {
  /** Until the first device had fetched the model. */
  readonly pickedUp: number | null
  /** From the first model that was fetched to the last update that came. */
  readonly trained: number | null
  /** From the last update to the new model. */
  readonly aggregated: number | null
  /** Of all updates that are listed. */
  readonly uploadedBytes: number
  /** Of the model, to every device that has fetched it; null where its size is not known. */
  readonly downloadedBytes: number | null
}

const times = (texts: readonly (string | null)[]): readonly number[] =>
  texts.flatMap((text) => (text === null ? [] : [Date.parse(text)]))

const between = (from: number, to: number): number | null =>
  Number.isFinite(from) && Number.isFinite(to) ? Math.max(0, to - from) : null

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
