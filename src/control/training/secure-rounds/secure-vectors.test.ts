import { expect, it } from 'vitest'
import { connect } from '../../../../test/secure-fleet.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { takePart } from '../../../sdk/take-part.ts'

const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)

const prepared = async (name: string, fields: object) => {
  const world = await startWorld()
  const devices = [await world.register('d0'), await world.register('d1'), await world.register('d2')]
  const { key } = devices[0]!
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  await world.request('POST', '/api/v1/models/net/versions/upload', { key, body: formOf(floats(1, 2), {}, name) })
  const body = { target_devices: 3, min_devices: 3, global_model_id: 'net', timeout_seconds: 300, ...fields }
  const started = await world.request('POST', '/api/v1/training/rounds/start', { key, body })
  expect(started).toMatchObject({ status: 201, body: { raw_vector: true } })
  const { id } = started.body as { id: string }
  const members = devices.map((device) => connect(world, { name: device.deviceId, key: device.key }))
  const result = async () => {
    await world.service.runDueTasks()
    const round = (await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })).body
    const { status, aggregated_model_id: model } = round as { status: string; aggregated_model_id: string }
    expect(status).toBe('completed')
    const url = `${world.baseUrl}/api/v1/models/${model}/versions/1/download`
    const file = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    return [...new Float32Array(await file.arrayBuffer())]
  }
  return { world, key, id, members, result }
}

const report = { numSamples: 1, localLoss: 0.5, localAccuracy: 0.5 }

it.each([
  ['that its name declares', 'net.f32', {}],
  ['that the starter declares', 'net.bin', { raw_vector: true }],
])('a secure round on a raw vector %s gives the mean without revealing any vector', async (_, name, fields) => {
  const { id, members, result } = await prepared(name, { secure_aggregation: {}, ...fields })
  const updates = [floats(2, 2), floats(3, 2), floats(4, 5)]
  await Promise.all(
    members.map((device, n) => takePart(device, id, async () => ({ weights: updates[n]!, report, globalModel: null }))),
  )
  const [first, second] = await result()
  expect(first).toBeCloseTo(3, 3)
  expect(second).toBeCloseTo(3, 3)
})

it('a device in a secure round does not submit text in place of the expected vector', async () => {
  const { id, members } = await prepared('net.f32', { secure_aggregation: {} })
  const text = new Uint8Array(Buffer.from('{"a":1}\n'.repeat(9)))
  const parts = members.map((device) =>
    takePart(device, id, async () => ({ weights: text, report, globalModel: null })),
  )
  for (const part of await Promise.allSettled(parts))
    expect(part).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining('The file is JSON text, which cannot be aggregated') },
    })
})
