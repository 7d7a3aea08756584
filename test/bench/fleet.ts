import type { LoadGenerator } from './load.ts'
import type { ServiceUnderTest } from './service-under-test.ts'

export interface FleetDevice {
  readonly name: string
  readonly key: string
}

export const ORGANIZATION = 'bench'
export const DEVICES_PATH = `/api/v1/devices?org_id=${ORGANIZATION}`

/** Registers devices over HTTP, many at a time; 100,000 take about 15 seconds. */
export const registerFleet = async (
  load: LoadGenerator,
  service: ServiceUnderTest,
  size: number,
): Promise<FleetDevice[]> => {
  const names = Array.from({ length: size }, (_, n) => `device-${n}`)
  const { bodies } = await load.run({
    port: service.port,
    connections: 256,
    keepBodies: true,
    calls: names.map((name) => ({
      method: 'POST',
      path: '/api/v1/devices/register',
      body: { device_id: name, platform: 'linux', org_id: ORGANIZATION, capabilities: { ram_gb: 8, cpu: 'arm64' } },
    })),
  })
  return names.map((name, n) => ({ name, key: (JSON.parse(bodies[n]!) as { api_key: string }).api_key }))
}

export const heartbeatOf = ({ name, key }: FleetDevice) => ({
  method: 'PUT',
  path: `/api/v1/devices/${name}/heartbeat`,
  key,
  body: { status: 'active', metrics: { battery_level: 0.8, cpu_usage: 0.35 } },
})
