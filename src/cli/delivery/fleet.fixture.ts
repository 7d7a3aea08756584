import { emptyFolder } from '../../../test/databases.ts'
import { createModel } from '../../../test/fleet-of-models.ts'
import type { Organization } from '../../../test/organizations.ts'
import { startWorld, type TestDevice } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

/**
 * Creates a model 'm' in the given versions and some devices; `svc` runs with the organization's key. Without one, starts a
 * service, and `svc` runs with the first device's key.
 */
export const startFleet = async (
  devices: number,
  versions: readonly string[] = ['1.0.0', '2.0.0'],
  organization?: Organization,
) => {
  const world = organization?.world ?? (await startWorld())
  const fleet: TestDevice[] = []
  for (let n = 0; n < devices; n++) fleet.push(await world.register(`d${n}`))
  const { key } = organization ?? fleet[0] ?? (await world.register('operator'))
  const modelId = await createModel(world, key, 'm', versions)
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const svc = (...argv: string[]) => runInProcess(argv, { env, now: world.now })
  const get = async (path: string) => (await world.request('GET', `/api/v1${path}`, { key })).body as never

  /** The version of 'm' assigned to each device, such as {d0: '1.0.0', d1: null}. */
  const given = async (): Promise<Record<string, string | null>> => {
    const versionsOf = await Promise.all(
      fleet.map(async (device) => {
        const { body } = await world.request('GET', `/api/v1/devices/${device.deviceId}/assignments`, device)
        const { assignments } = body as { assignments: { version: string }[] }
        return [device.deviceId, assignments[0]?.version ?? null] as const
      }),
    )
    return Object.fromEntries(versionsOf)
  }
  /** Every device that is assigned this version reports the state. */
  const report = async (state: 'active' | 'failed', version: string, reason?: string): Promise<void> => {
    for (const device of fleet) {
      const { body } = await world.request('GET', `/api/v1/devices/${device.deviceId}/assignments`, device)
      for (const { plan_id, version: of } of (body as { assignments: { plan_id: string; version: string }[] })
        .assignments) {
        if (of !== version) continue
        await world.request('POST', `/api/v1/devices/${device.deviceId}/assignments/${plan_id}/report`, {
          key: device.key,
          body: { state, version, ...(reason !== undefined && { reason }) },
        })
      }
    }
    await world.service.runDueTasks()
  }
  return { world, fleet, key, modelId, env, svc, get, given, report }
}
