import { expect, it } from 'vitest'
import { hasPostgres } from '../databases.ts'
import { formOf } from '../world.ts'
import { call, startCluster } from './cluster.ts'
import { until } from './service-process.ts'

it.skipIf(!hasPostgres())(
  'three processes on one PostgreSQL server start one round, learn of it everywhere, and aggregate it once',
  async () => {
    const members = await startCluster(3)
    const url = (n: number) => members[n % 3]!.url
    const devices = await Promise.all(
      Array.from({ length: 6 }, async (_, n) => {
        const { body } = await call(url(n), 'POST', '/devices/register', undefined, { device_id: `d${n}` })
        return String(body.api_key)
      }),
    )
    const waiting = call(url(1), 'PUT', '/devices/d1/heartbeat?wait_seconds=20', devices[1])
    await new Promise((resolve) => setTimeout(resolve, 200))
    const body = { target_devices: 6, min_devices: 6 }
    const starts = await Promise.all(
      Array.from({ length: 9 }, (_, n) => call(url(n), 'POST', '/training/rounds/start', devices[0], body)),
    )
    expect(starts.map(({ status }) => status).sort()).toEqual([201, ...Array(8).fill(409)])
    const id = String(starts.find(({ status }) => status === 201)?.body.id)
    expect((await waiting).body).toMatchObject({ pending_round_id: id })

    const sent = await Promise.all(
      devices.map((key, n) =>
        call(
          url(n),
          'POST',
          `/training/rounds/${id}/updates`,
          key,
          formOf(new Uint8Array(new Float32Array([n, 1]).buffer), { num_samples: 1 }),
        ),
      ),
    )
    expect(sent.map(({ status }) => status)).toEqual(Array(6).fill(201))
    const done = await until(
      () => call(url(2), 'GET', `/training/rounds/${id}/status`, devices[0]),
      ({ body: round }) => round.status !== 'active' && round.status !== 'aggregating',
    )
    expect(done.body).toMatchObject({ status: 'completed', completed_devices: 6, participated_devices: 6 })
    const models = await call(url(0), 'GET', '/models', devices[0])
    expect(models.body).toMatchObject({ total: 1, models: [{ round_id: id }] })
    const file = await fetch(`${url(0)}/api/v1/models/${done.body.aggregated_model_id}/versions/1/download`, {
      headers: { authorization: `Bearer ${devices[0]}` },
    })
    expect([...new Float32Array(await file.arrayBuffer())]).toEqual([2.5, 1])
  },
)
