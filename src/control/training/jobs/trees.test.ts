import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { frameworkPath } from '../../../../test/fixtures/frameworks/open.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { bytesSource } from '../../../tensors/sources.ts'
import { readTrees } from '../../../tensors/xgboost-trees.ts'

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
    for (const [at, name] of ['a', 'b'].entries()) {
      const body = formOf(file(`${name}_new`), { num_samples: 5 }, 'update.json')
      const sent = await world.request('POST', path, { key: devices[at]!.key, body })
      expect(sent).toMatchObject({ status: 201 })
      expect(sent.headers.get('X-Service-Warning')).toBeNull()
    }
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
