import { randomUUID } from 'node:crypto'
import { expect, it, vi } from 'vitest'
import { organizations } from '../../../../test/organizations.ts'
import { type FleetDevice, jobOf, startFleet, startJob, uploadModel } from '../../../../test/training-fleet.ts'
import type { World } from '../../../../test/world.ts'
import { takeEvaluation, takePart } from '../../../sdk/take-part.ts'
import { localEvaluator } from '../../../sdk/trainers/local-trainer.ts'
import { readEvaluation } from './updates.schema.ts'

const openOrganization = organizations()

// The first service of a file starts slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const opened = async (devices: number, fields: object = {}) => {
  const world = openOrganization()
  const fleet = await startFleet(world, devices)
  const { key } = fleet[0]!
  const model = await uploadModel(world, key, `model-${randomUUID()}`)
  const answer = await startJob(world, key, { model, rounds: 1, min_devices: devices, ...fields })
  expect([answer.status, answer.body]).toEqual([201, expect.anything()])
  return { world, fleet, key, id: (answer.body as { id: string }).id }
}

/** Every device takes part in the round that awaits it, and offers to evaluate. */
const train = async (world: World, fleet: readonly FleetDevice[]): Promise<void> => {
  for (const { device, trainer, rows } of fleet) {
    const { pendingRoundId } = await device.heartbeat()
    await takePart(device, pendingRoundId!, trainer, { evaluate: localEvaluator(rows) })
  }
  await world.service.runDueTasks()
}

const evaluate = async ({ device, rows }: FleetDevice): Promise<boolean> => {
  const { pendingEvaluationId } = await device.heartbeat()
  return takeEvaluation(device, pendingEvaluationId!, localEvaluator(rows))
}

it("asks the last round's devices to evaluate the last model, and ends the job when all have answered", async () => {
  const { world, fleet, key, id } = await opened(2)
  await train(world, fleet)
  expect(await jobOf(world, key, id)).toMatchObject({
    status: 'running',
    rounds_completed: 1,
    waiting_for: 'Waits for 2 devices to evaluate the last model.',
    waiting_until: new Date(world.now().getTime() + 30_000).toISOString(),
    published: [],
  })
  // No other round starts in the meantime.
  await world.service.runDueTasks()
  expect((await jobOf(world, key, id)).history).toHaveLength(1)
  expect(await evaluate(fleet[0]!)).toBe(true)
  expect(await fleet[0]!.device.heartbeat()).toMatchObject({ pendingEvaluationId: null })
  expect(await evaluate(fleet[1]!)).toBe(true)
  const done = await jobOf(world, key, id)
  expect(done).toMatchObject({
    status: 'completed',
    ended_by: 'rounds_done',
    waiting_for: null,
    published: [{ version: 2 }],
    history: [{ evaluation: { devices: 2, metrics: { loss: { devices: 2 }, accuracy: { devices: 2 } } } }],
  })
})

it('the evaluation is not held up by devices that are silent, fail, or have become inactive', async () => {
  const { world, fleet, key, id } = await opened(6, { evaluation_seconds: 20 })
  await train(world, fleet)
  const [first, second, failing, leaving] = fleet as [FleetDevice, FleetDevice, FleetDevice, FleetDevice]
  expect(await evaluate(first)).toBe(true)
  expect(await evaluate(second)).toBe(true)
  const { pendingEvaluationId } = await failing.device.heartbeat()
  const broken = takeEvaluation(failing.device, pendingEvaluationId!, () => {
    throw new Error('no rows')
  })
  await expect(broken).rejects.toThrow('no rows')
  await leaving.device.heartbeat(undefined, { status: 'inactive' })
  await world.advance(19)
  expect(await jobOf(world, key, id)).toMatchObject({ status: 'running' })
  await world.advance(1)
  await world.service.runDueTasks()
  expect(await jobOf(world, key, id)).toMatchObject({ status: 'completed', history: [{ evaluation: { devices: 2 } }] })
  // A late device is told that the evaluation is over.
  const late = fleet[4]!
  expect(await late.device.heartbeat()).toMatchObject({ pendingEvaluationId: null })
  expect(await takeEvaluation(late.device, pendingEvaluationId!, localEvaluator(late.rows))).toBe(false)
})

it('counts nothing if no device answers, and still ends the job', async () => {
  const { world, fleet, key, id } = await opened(2)
  await train(world, fleet)
  await world.advance(31)
  await world.service.runDueTasks()
  const job = await jobOf(world, key, id)
  expect(job).toMatchObject({ status: 'completed', published: [{ version: 2 }] })
  expect(job.history[0]).not.toHaveProperty('evaluation')
})

it('accepts one answer from each device that was asked, and none from others', async () => {
  const { world, fleet, key, id } = await opened(2)
  await train(world, fleet)
  const round = (await jobOf(world, key, id)).history[0]!.round_id
  const path = `/api/v1/training/rounds/${round}/evaluation`
  const send = async (key: string, body: object) => {
    const answer = await world.request('POST', path, { key, body })
    return [answer.status, (answer.body as { message?: string }).message]
  }
  const stranger = await world.register('stranger')
  const found = { num_samples: 1, metrics: { accuracy: 1 } }
  expect(await send(stranger.key, found)).toEqual([409, expect.stringContaining('is not asked to evaluate')])
  expect((await world.request('GET', path, { key: stranger.key })).status).toBe(409)
  expect(await send(key, { ...found, metrics: { accuracy: 2 } })).toEqual([
    400,
    expect.stringMatching(/^metrics\.accuracy must be from 0 to 1/),
  ])
  expect(await send(key, { metrics: { f1: 1 } })).toEqual([400, expect.stringMatching(/^num_samples must be a whole/)])
  expect(await send(key, { num_samples: 1, metrics: { f1: 1e39 } })).toEqual([400, 'metrics has no number in range.'])
  expect(await send(key, found)).toEqual([201, undefined])
  expect(await send(key, found)).toEqual([409, expect.stringContaining('already reported its evaluation')])
})

it('the evaluation is skipped if no device offers it', async () => {
  const { world, fleet, key, id } = await opened(2)
  for (const { device, trainer } of fleet) await takePart(device, (await device.heartbeat()).pendingRoundId!, trainer)
  await world.service.runDueTasks()
  expect(await jobOf(world, key, id)).toMatchObject({ status: 'completed' })
})

it('the evaluation ends at once if the job is stopped', async () => {
  const { world, fleet, key, id } = await opened(2)
  await train(world, fleet)
  expect((await world.request('POST', `/api/v1/training/jobs/${id}/stop`, { key })).status).toBe(200)
  expect(await jobOf(world, key, id)).toMatchObject({ status: 'stopped', published: [{ version: 2 }] })
  await world.advance(60)
  await world.service.runDueTasks()
  expect(await jobOf(world, key, id)).toMatchObject({ status: 'stopped', published: [{ version: 2 }] })
})

it('counts what was reported before its job was stopped, and nothing afterwards', async () => {
  const metric = { metric: 'evaluation.accuracy', publish: 'best' }
  const { world, fleet, key, id } = await opened(2, metric)
  await train(world, fleet)
  const { pendingEvaluationId } = await fleet[1]!.device.heartbeat()
  expect(await evaluate(fleet[0]!)).toBe(true)
  await world.request('POST', `/api/v1/training/jobs/${id}/stop`, { key })
  const stopped = await jobOf(world, key, id)
  expect(stopped).toMatchObject({
    status: 'stopped',
    reason: 'The training job was stopped.',
    published: [{ version: 2 }],
    history: [{ evaluation: { devices: 1 } }],
  })
  expect(stopped.history[0]).not.toHaveProperty('evaluation_until')
  const late = await world.request('POST', `/api/v1/training/rounds/${pendingEvaluationId}/evaluation`, {
    key: fleet[1]!.key,
    body: { num_samples: 1, metrics: { accuracy: 1 } },
  })
  expect([late.status, late.body]).toMatchObject([409, { message: 'The evaluation is over.' }])
  expect((await jobOf(world, key, id)).history).toEqual(stopped.history)
})

it("the evaluation is not replaced by later rounds' evaluations of the model", async () => {
  const { world, fleet, key, id } = await opened(2, { rounds: 2 })
  await train(world, fleet)
  await train(world, fleet)
  for (const device of fleet) await evaluate(device)
  const { history, latest_model_id: modelId } = await jobOf(world, key, id)
  expect(history).toMatchObject([{ evaluation: { devices: 2 } }, { evaluation: { devices: 2 } }])
  const report = JSON.stringify({ num_samples: 1, metrics: { loss: 999 } })
  const deliver = async ({ device, trainer }: FleetDevice, roundId: string): Promise<void> => {
    const plan = await device.plan(roundId)
    const { weights, report: of } = await trainer(await device.model(plan), plan, undefined, { control: null })
    await device.submit(roundId, weights, {
      ...of,
      evaluation: JSON.parse(report.replace('num_samples', 'numSamples')),
    })
  }
  // A standalone round, another job, and more rounds of the same job: all begin with the last model.
  const alone = await world.request('POST', '/api/v1/training/rounds/start', {
    key,
    body: { target_devices: 1, min_devices: 1, global_model_id: modelId },
  })
  const standalone = (alone.body as { id: string }).id
  await deliver(fleet[0]!, standalone)
  await world.service.runDueTasks()
  const begin = await startJob(world, key, { model: modelId, rounds: 1, min_devices: 1, target_devices: 1 })
  const other = (begin.body as { id: string }).id
  await world.service.runDueTasks()
  for (const one of fleet) {
    const { pendingRoundId } = await one.device.heartbeat()
    if (pendingRoundId !== null) await deliver(one, pendingRoundId)
  }
  await world.service.runDueTasks()
  await world.request('POST', `/api/v1/training/jobs/${id}/extend`, { key, body: { rounds: 1 } })
  for (const one of fleet) await deliver(one, (await one.device.heartbeat()).pendingRoundId!)
  await world.service.runDueTasks()
  const evaluated = { global_evaluation: { metrics: { loss: { mean: 999 } } } }
  expect((await jobOf(world, key, other)).history).toMatchObject([{ status: 'completed' }])
  const after = await jobOf(world, key, id)
  expect(after.history.slice(0, 2)).toEqual(history)
  for (const roundId of [standalone, after.history[2]!.round_id]) {
    const round = await world.request('GET', `/api/v1/training/rounds/${roundId}/status`, { key })
    expect(round.body).toMatchObject(evaluated)
  }
})

it('at most 100 unknown fields of an evaluation are examined', () => {
  const unknown = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x${i}`, 1]))
  const warnings: string[] = []
  readEvaluation({ num_samples: 1, metrics: { loss: 1 }, ...unknown }, warnings)
  expect(warnings).toHaveLength(100)
})
