import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { type Member, plainResult, secureFleet, tensorsOf } from '../../../test/secure-fleet.ts'
import { takePart } from '../../sdk/take-part.ts'
import { secureSettings } from '../../secure-aggregation/settings.ts'
import { runInProcess } from '../in-process.fixture.ts'

const SETTINGS = { devices: 4, threshold: 4 }

/** The devices take part through the SDK; each one's training returns its predefined update. */
const takeParts = (members: readonly Member[]) =>
  Promise.all(
    members.map(async ({ device, update, loss }) => {
      const { pendingRoundId } = await device.heartbeat()
      const report = { numSamples: 9, localLoss: loss, localAccuracy: 1 - loss / 10 }
      const trainer = async () => ({ weights: update, report, globalModel: null })
      await takePart(device, pendingRoundId!, trainer)
    }),
  )

it('a round of a secure job computes the sum of the updates, shows none of them, and is reported as secure', async () => {
  const { world, members } = await secureFleet(4)
  const { key } = members[0]!
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const svc = (...argv: string[]) => runInProcess(argv, { env })
  const get = async (path: string) => (await world.request('GET', `/api/v1${path}`, { key })).body as never

  const order = ['train', 'start', 'small', '--rounds', '1', '--min-devices', '4', '--secure-aggregation', '4']
  expect(await svc(...order)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('1 round of fedavg on small'),
  })
  await takeParts(members)
  await world.service.runDueTasks()

  const job = JSON.parse((await svc('train', 'status', 'small', '--json')).stdout)
  const [{ round_id: roundId }] = job.history
  const plain = plainResult(members, secureSettings(SETTINGS))
  expect(job).toMatchObject({ status: 'completed', secure_aggregation: { threshold: 4 } })
  expect(job.history).toMatchObject([
    { status: 'completed', completed_devices: 4, loss: plain.totals.loss, accuracy: plain.totals.accuracy },
  ])
  expect((await svc('train', 'status', 'small')).stdout).toMatch(/^Secure: +only the sum is visible$/m)

  const path = `${world.baseUrl}/api/v1/models/${job.latest_model_id}/versions/1/download`
  const file = await fetch(path, { headers: { authorization: `Bearer ${key}` } })
  expect(tensorsOf(new Uint8Array(await file.arrayBuffer()))).toEqual(plain.tensors)

  const secure = { ...SETTINGS, range: 8, max_weight: 1 }
  expect(await get(`/training/rounds/${roundId}/status`)).toMatchObject({ secure_aggregation: secure })
  expect(await get(`/training/rounds/${roundId}/receipt`)).toMatchObject({ secure_aggregation: secure })
  expect(await get(`/training/rounds/${roundId}/updates`)).toMatchObject({
    updates: members.map(() => ({ local_loss: null, local_accuracy: null, norm: null, cosine: null })),
  })
  expect(await svc('train', 'verify', roundId)).toMatchObject({ exitCode: 0 })
})

it('a secure job without a threshold lets each round set it; an invalid threshold is refused by the name of its option', async () => {
  const { world, members } = await secureFleet(2)
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: members[0]!.key, SERVICE_API_BASE: world.baseUrl }
  const svc = (...argv: string[]) => runInProcess(argv, { env })
  const start = (...options: string[]) => svc('train', 'start', 'small', ...options, '--json')

  expect(JSON.parse((await start('--secure-aggregation')).stdout)).toMatchObject({ secure_aggregation: {} })
  await svc('train', 'stop', 'small')
  expect(await start('--secure-aggregation', '1')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('--secure-aggregation must be an integer from 2'),
  })
  expect(await start('--secure-aggregation', '--strategy', 'krum')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('krum'),
  })
})
