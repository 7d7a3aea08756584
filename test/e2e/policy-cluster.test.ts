import { expect, it } from 'vitest'
import { hasPostgres } from '../databases.ts'
import { formOf } from '../world.ts'
import { call, startCluster } from './cluster.ts'
import { until } from './service-process.ts'

interface Decision {
  readonly status: string
  readonly promotion_rollout_id: string | null
}

const floats = (...values: number[]) => formOf(new Uint8Array(new Float32Array(values).buffer))

it.skipIf(!hasPostgres())(
  'two processes on one PostgreSQL server pick up a round once, and decide on it once',
  async () => {
    const members = await startCluster(2)
    const [one, other] = members.map(({ url }) => url) as [string, string]
    const names = Array.from({ length: 40 }, (_, n) => `d${n}`)
    const keys = await Promise.all(
      names.map(async (device_id, n) => {
        const { body } = await call(n % 2 === 0 ? one : other, 'POST', '/devices/register', undefined, { device_id })
        return String(body.api_key)
      }),
    )
    const key = keys[0]!
    await call(one, 'POST', '/models', key, { name: 'm' })
    await call(one, 'POST', '/models/m/versions/upload', key, floats(1, 2))
    await call(one, 'POST', '/models/m/rollouts', key, { version: '1', rollout_percentage: 100 })
    await call(one, 'PUT', '/models/m/policy', key, { enabled: true, canary_percentage: 50, min_reports: 3 })
    const start = { target_devices: 1, min_devices: 1, global_model_id: 'm' }
    const { body: round } = await call(one, 'POST', '/training/rounds/start', key, start)
    const update = floats(3, 4)
    update.set('num_samples', '1')
    expect((await call(other, 'POST', `/training/rounds/${round.id}/updates`, key, update)).status).toBe(201)
    /** Both run due tasks at the same time, several times. */
    const settle = () => Promise.all([...members, ...members, ...members].map(({ service }) => service.runDueTasks()))
    const decisions = async (url: string) =>
      (await call(url, 'GET', '/models/m/policy/decisions', key)).body.decisions as Decision[]
    await until(
      async () => {
        await settle()
        return decisions(other)
      },
      (found) => found.length > 0,
    )
    await settle()
    expect(await Promise.all([one, other].map(decisions))).toEqual([
      [expect.objectContaining({ status: 'observing' })],
      [expect.objectContaining({ status: 'observing' })],
    ])

    const given = async (n: number, url: string) => {
      const { body } = await call(url, 'GET', `/devices/${names[n]}/assignments`, keys[n])
      return (body.assignments as { plan_id: string; version: string }[])[0]!
    }
    // The process that did not start the canary learns of it a moment later.
    await until(
      () => Promise.all(names.map((_, n) => given(n, n % 2 === 0 ? one : other))),
      (all) => all.filter(({ version }) => version === '1.1.0').length >= 3,
    )
    await Promise.all(
      names.map(async (name, n) => {
        const url = n % 2 === 0 ? one : other
        const { plan_id, version } = await given(n, url)
        const metrics = { accuracy: (version === '1.1.0' ? 0.95 : 0.9) + 0.001 * (n % 3) }
        const report = { state: 'active', version, metrics }
        await call(url, 'POST', `/devices/${name}/assignments/${plan_id}/report`, keys[n], report)
      }),
    )
    await settle()
    const decided = await Promise.all([one, other].map(decisions))
    expect(decided[0]).toEqual(decided[1])
    expect(decided[0]).toMatchObject([{ status: 'promoted', promotion_rollout_id: expect.any(String) }])
    expect((await call(one, 'GET', '/models/m/rollouts', key)).body).toMatchObject({
      total: 2,
      rollouts: [
        {
          rollout_id: decided[0]![0]!.promotion_rollout_id,
          version: '1.1.0',
          status: 'active',
          percentage: 50,
          target_percentage: 100,
        },
        { version: '1' },
      ],
    })
    expect((await call(other, 'GET', '/models/m', key)).body).toMatchObject({
      versions: [{ version: 1 }, { version: 2 }],
    })
  },
)
