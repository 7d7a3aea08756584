import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { frameworkPairs, pairFile } from '../../../../test/fixtures/frameworks/open.ts'
import { FRAMEWORK_NAME } from '../../../../test/fixtures/weights/open.ts'
import { organizations } from '../../../../test/organizations.ts'
import { formOf } from '../../../../test/world.ts'
import { readTensorBytes } from '../../../tensors/elements.ts'
import { readWeights } from '../../../tensors/read-weights.ts'
import { bytesSource } from '../../../tensors/sources.ts'

const openOrganization = organizations()

const PAIRS = Object.fromEntries(frameworkPairs())

it.each(['raw.onnx', 'whole.h5', 'weights.h5', 'net.keras', 'sgd.joblib', 'logistic.pkl'])(
  'a round on %s averages what the devices send and keeps the container format',
  async (name) => {
    const world = openOrganization()
    const devices = [await world.register('a'), await world.register('b')] as const
    const { key } = devices[0]
    await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
    const model = formOf(readFileSync(pairFile(name, 'a')), {}, name)
    const uploaded = await world.request('POST', '/api/v1/models/net/versions/upload', { key, body: model })
    expect(uploaded).toMatchObject({ status: 201, body: { warnings: [] } })
    const body = { target_devices: 2, min_devices: 2, global_model_id: 'net' }
    const { id } = (await world.request('POST', '/api/v1/training/rounds/start', { key, body })).body as { id: string }
    for (const [at, which] of (['a', 'b'] as const).entries()) {
      const form = formOf(readFileSync(pairFile(name, which)), { num_samples: 1 + 2 * at }, name)
      const path = `/api/v1/training/rounds/${id}/updates`
      const sent = await world.request('POST', path, { key: devices[at]!.key, body: form })
      expect(sent).toMatchObject({ status: 201 })
      expect(sent.headers.get('X-Service-Warning')).toBeNull()
    }
    await world.service.runDueTasks()
    const { body: round } = await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })
    expect(round).toMatchObject({ status: 'completed', failure_reason: null })
    const url = `${world.baseUrl}/api/v1/models/${(round as { aggregated_model_id: string }).aggregated_model_id}/versions/1/download`
    const file = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    const ending = name === 'weights.h5' ? 'v1.weights.h5' : name.slice(name.indexOf('.'))
    expect(file.headers.get('content-disposition')).toContain(`${ending}"`)
    const source = bytesSource(new Uint8Array(await file.arrayBuffer()))
    const tensors = readWeights(source).tensors.map((tensor) => [
      tensor.name,
      {
        dtype: FRAMEWORK_NAME[tensor.dtype],
        shape: [...tensor.shape],
        hex: Buffer.from(readTensorBytes(source, tensor)).toString('hex'),
      },
    ])
    expect(Object.fromEntries(tensors)).toEqual(PAIRS[name]!.mean)
  },
)
