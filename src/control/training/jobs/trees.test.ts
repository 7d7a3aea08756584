import { createHash } from 'node:crypto'
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { frameworkPath } from '../../../../test/fixtures/frameworks/open.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { bytesSource } from '../../../tensors/sources.ts'
import { readTrees } from '../../../tensors/xgboost-trees.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const file = (name: string) => readFileSync(frameworkPath(`boost_${name}.json`))

it.each([
  ['xgb_bagging', 'every device', 6],
  ['xgb_cyclic', 'one device', 3],
])('a job with %s adds the trees of %s in every round, and its receipts replay', async (strategy, _, trees) => {
  const world = await startWorld()
  const devices = [await world.register('a'), await world.register('b')] as const
  const { key } = devices[0]
  await world.request('POST', '/api/v1/models', { key, body: { name: 'trees', framework: 'xgboost' } })
  const model = formOf(file('model'), {}, 'model.json')
  await world.request('POST', '/api/v1/models/trees/versions/upload', { key, body: model })
  const sha256 = createHash('sha256').update(file('model')).digest('hex')
  const job = { model: 'trees', strategy, rounds: 2, min_devices: 2 }
  const started = await world.request('POST', '/api/v1/training/jobs', { key, body: job })
  expect(started).toMatchObject({ status: 201 })
  const { id: jobId } = started.body as { id: string }
  for (let round = 0; round < 2; round++) {
    const { id } = (await world.request('GET', '/api/v1/training/rounds/current', { key })).body as { id: string }
    const path = `/api/v1/training/rounds/${id}/updates`
    const weights = formOf(readFileSync(frameworkPath('weights_a.h5')), { num_samples: 1 }, 'w.h5')
    expect(await world.request('POST', path, { key, body: weights })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('not an XGBoost model in JSON or UBJSON') },
    })
    const other = formOf(readFileSync(frameworkPath('refused_score.json')), { num_samples: 1 }, 'update.json')
    expect(await world.request('POST', path, { key, body: other })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining("cannot be combined with the round's model: its base_score") },
    })
    // The model was read for the first update.
    const stored = join(world.dataDir, 'blobs', 'sha256', sha256.slice(0, 2), sha256)
    if (round === 0) renameSync(stored, `${stored}.away`)
    for (const [at, name] of ['a', 'b'].entries()) {
      const body = formOf(file(`${name}_new`), { num_samples: 5 }, 'update.json')
      const sent = await world.request('POST', path, { key: devices[at]!.key, body })
      expect(sent).toMatchObject({ status: 201 })
      expect(sent.headers.get('X-Service-Warning')).toBeNull()
    }
    if (round === 0) renameSync(`${stored}.away`, stored)
    await world.service.runDueTasks()
    const replay = await world.request('POST', `/api/v1/training/rounds/${id}/receipt/replay`, { key })
    expect(replay.body).toMatchObject({ matches: true })
  }
  const done = (await world.request('GET', `/api/v1/training/jobs/${jobId}`, { key })).body
  expect(done).toMatchObject({ status: 'completed', rounds_completed: 2 })
  const { latest_model_id: latest } = done as { latest_model_id: string }
  const url = `${world.baseUrl}/api/v1/models/${latest}/versions/1/download`
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  expect(response.headers.get('content-disposition')).toContain('.json')
  expect(readTrees(bytesSource(new Uint8Array(await response.arrayBuffer()))).trees).toHaveLength(2 + 2 * trees)
})

it('xgb_cyclic uses the updates in turn, also in a job that continues and with devices of several organizations', async () => {
  const { world, admin, send, keyOf, found } = await openFederation()
  const federation = await found(['beta'])
  const [acme, beta] = [await keyOf('acme'), await keyOf('beta')]
  const devices: string[] = []
  for (const [org, device_id] of [
    [acme, 'd'],
    [beta, 'd'],
    [acme, 'e'],
  ] as const)
    devices.push((await send(org, 'POST', '/devices/register', { device_id })).body.api_key as string)
  await send(acme, 'POST', '/models', { name: 'trees', framework: 'xgboost' })
  await send(acme, 'POST', '/models/trees/versions/upload', formOf(file('model'), {}, 'model.json'))
  const wanted = { model: 'trees', strategy: 'xgb_cyclic', rounds: 2, min_devices: 3, federation }
  const job = (await send(acme, 'POST', '/training/jobs', wanted)).body.id as string
  /** The number of the update that the round used. Each adds three trees. */
  const playRound = async (): Promise<number> => {
    const round = (await send(acme, 'GET', '/training/rounds/current')).body.id as string
    for (const key of devices) {
      const body = formOf(file('a_new'), { num_samples: 5 }, 'update.json')
      expect(await send(key, 'POST', `/training/rounds/${round}/updates`, body)).toMatchObject({ status: 201 })
    }
    await world.service.runDueTasks()
    const { updates } = (await send(admin, 'GET', `/training/rounds/${round}/receipt`)).body as {
      updates: { weight: number }[]
    }
    const used = updates.findIndex(({ weight }) => weight === 1)
    expect(updates.map(({ weight }) => weight)).toEqual([0, 1, 2].map((at) => Number(at === used)))
    return used
  }
  const used = [await playRound(), await playRound()]
  expect(await send(acme, 'POST', `/training/jobs/${job}/extend`, { rounds: 2 })).toMatchObject({ status: 200 })
  await world.service.runDueTasks()
  used.push(await playRound(), await playRound())
  const turns = [0, 1, 2, 3].map((round) => Number.parseInt(job.slice(-8), 16) + round)
  expect(used).toEqual(turns.map((turn) => turn % 3))
})

it('trees are refused by other strategies with a hint at the right ones, and weights by strategies for trees', async () => {
  const world = await startWorld()
  const { key } = await world.register('a')
  for (const [name, bytes] of [
    ['trees', file('model')],
    ['net', readFileSync(frameworkPath('raw_a.onnx'))],
  ] as const) {
    await world.request('POST', '/api/v1/models', { key, body: { name } })
    await world.request('POST', `/api/v1/models/${name}/versions/upload`, { key, body: formOf(bytes, {}, 'model') })
  }
  for (const [model, strategy, message] of [
    ['trees', 'fedavg', 'strategies xgb_bagging and xgb_cyclic combine them'],
    ['net', 'xgb_bagging', 'not an XGBoost model in JSON or UBJSON'],
  ]) {
    const job = await world.request('POST', '/api/v1/training/jobs', { key, body: { model, strategy, min_devices: 1 } })
    expect(job).toMatchObject({ status: 400, body: { message: expect.stringContaining(message!) } })
    const body = { global_model_id: model, strategy, target_devices: 1, min_devices: 1 }
    if (strategy !== 'fedavg')
      expect(await world.request('POST', '/api/v1/training/rounds/start', { key, body })).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining(message!) },
      })
  }
})
