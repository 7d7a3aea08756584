import { type ResponseOf, useApi, useApiAll } from '../../api/use-api.ts'

type Round = ResponseOf<'/api/v1/training/rounds'>['rounds'][number]
type Selection = ResponseOf<'/api/v1/training/rounds/{round_id}/selection'>

export interface RoundOfDevice {
  readonly round: Round
  /** null while unknown, or if only an administrator may see it. */
  readonly selection: Selection | null
}

const LATEST = 10

export interface DeviceName {
  readonly device_id: string
  readonly org_id: string | null
}

/** Returns the API parameters for a device. */
export const deviceParams = ({ device_id, org_id }: DeviceName) => ({
  path: { device_id },
  query: { ...(org_id !== null && { org_id }) },
})

/** Returns the latest rounds of the device's organization: whether it took part, and why or why not. */
export const useDeviceRounds = (device: DeviceName & { readonly trains: boolean }) => {
  const query = useApi('/api/v1/training/rounds', { query: { limit: 100 } }, { enabled: device.trains })
  const rounds = (query.data?.rounds ?? []).filter(({ org_id }) => org_id === device.org_id).slice(0, LATEST)
  const selections = useApiAll(
    '/api/v1/training/rounds/{round_id}/selection',
    rounds.map(({ id }) => ({ path: { round_id: id }, query: { device_id: device.device_id } })),
  )
  const rows: RoundOfDevice[] = rounds.map((round, index) => ({ round, selection: selections[index]?.data ?? null }))
  return { query, rows }
}
