import { useQueries } from '@tanstack/react-query'
import type { AnswerOf } from '../../api/paths.ts'
import { read, useApi } from '../../api/use-api.ts'

type Round = AnswerOf<'/api/v1/training/rounds'>['rounds'][number]
type Selection = AnswerOf<'/api/v1/training/rounds/{round_id}/selection'>

export interface RoundOfDevice {
  readonly round: Round
  /** Null until it is known, or where only an administrator may know it. */
  readonly selection: Selection | null
}

const LATEST = 10

/** The latest rounds of the device's organization: whether it took part, and why or why not. */
export const useDeviceRounds = (device: {
  readonly device_id: string
  readonly org_id: string | null
  readonly trains: boolean
}) => {
  const query = useApi('/api/v1/training/rounds', { query: { limit: 100 } }, { enabled: device.trains })
  const rounds = (query.data?.rounds ?? []).filter(({ org_id }) => org_id === device.org_id).slice(0, LATEST)
  const selections = useQueries({
    queries: rounds.map(({ id }) => {
      const params = { path: { round_id: id }, query: { device_id: device.device_id } }
      return {
        queryKey: ['/api/v1/training/rounds/{round_id}/selection', params],
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          read('/api/v1/training/rounds/{round_id}/selection', params, signal),
      }
    }),
  })
  const rows: RoundOfDevice[] = rounds.map((round, index) => ({ round, selection: selections[index]?.data ?? null }))
  return { query, rows }
}
