import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { jobOf, SHAPE, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import { formOf, startWorld } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'

/** A job that waits for devices and is pinned to version 1, whose file is gone; version 2 is the latest. */
const waiting = async (fields: object) => {
  const world = await startWorld()
  const [first] = await startFleet(world, 1)
  const { key } = first!
  const modelId = await uploadModel(world, key)
  const started = await startJob(world, key, { min_devices: 2, target_devices: 3, ...fields })
  expect(started).toMatchObject({ status: 201, body: { status: 'pending', model_version: 1 } })
  const { id } = started.body as { id: string }
  const other = encodeModel(initialModel({ ...SHAPE, hidden: [], seed: 5 }), new Map())
  const path = `/api/v1/models/${modelId}/versions`
  const second = await world.request('POST', `${path}/upload`, { key, body: formOf(other, {}, 'm.safetensors') })
  expect(second.status).toBe(201)
  const { body: version } = await world.request('GET', `${path}/1`, { key })
  const hex = (version as { model_hash: string }).model_hash.replace('sha256:', '')
  await rm(join(world.dataDir, 'blobs', 'sha256', hex.slice(0, 2), hex))
  return { world, key, id, modelId }
}

it.each([{}, { secure_aggregation: {} }])(
  'a job whose pinned version is gone ends with that reason: %j',
  async (fields) => {
    const { world, key, id, modelId } = await waiting(fields)
    for (const name of ['a', 'b', 'c']) await world.register(name)
    await world.service.runDueTasks()
    const reason =
      `Version 1 of the model that the job's next round would distribute (${modelId}) is no longer stored. Restore its file from a ` +
      'backup and resume the job, or start another job.'
    expect(await jobOf(world, key, id)).toMatchObject({
      status: 'failed',
      ended_by: 'cannot_start',
      reason,
      history: [],
    })
    const resumed = await world.request('POST', `/api/v1/training/jobs/${id}/resume`, { key, body: {} })
    expect([resumed.status, resumed.body]).toMatchObject([409, { message: reason }])
  },
)
