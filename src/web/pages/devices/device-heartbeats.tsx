import { useMemo } from 'react'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Curve } from '../../parts/curve.tsx'
import { Loaded, Panel } from '../../parts/layout.tsx'
import { count } from '../../text/format.ts'
import { type DeviceName, deviceParams } from './use-device-rounds.ts'

type History = ResponseOf<'/api/v1/devices/{device_id}/heartbeats'>

const ByTime = ({ from, slot_seconds, counts }: History) => {
  const series = useMemo(() => {
    const start = Date.parse(from) / 1000
    return [
      { name: 'heartbeats', points: counts.map((received, slot) => [start + slot * slot_seconds, received] as const) },
    ]
  }, [from, slot_seconds, counts])
  return <Curve title="Heartbeats" x="time" series={series} format={count} whole />
}

/** A device's heartbeats over time; 0 means that there were none. */
export const DeviceHeartbeats = ({ device }: { readonly device: DeviceName }) => {
  const history = useApi('/api/v1/devices/{device_id}/heartbeats', deviceParams(device), { everyMs: 60_000 })
  return (
    <Panel title="Heartbeats" aside="per 15 minutes of the last day">
      <Loaded query={history}>{(data) => <ByTime {...data} />}</Loaded>
    </Panel>
  )
}
