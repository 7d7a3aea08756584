import { expect, it } from 'vitest'
import { formOf, startWorld } from '../../../../test/world.ts'
import { initialModel } from '../../../sdk/trainers/dense-network.ts'
import { encodeModel } from '../../../sdk/trainers/weights-codec.ts'
import { openFederation } from '../../federations/federation.fixture.ts'

const dense = encodeModel(initialModel({ features: 2, hidden: [], classes: 2, seed: 0 }), new Map())

const fileWith = (name: string): Uint8Array => {
  const header = JSON.stringify({ [name]: { dtype: 'F32', shape: [1], data_offsets: [0, 4] } }).padEnd(96)
  return Buffer.concat([Buffer.from([96, 0, 0, 0, 0, 0, 0, 0]), Buffer.from(header), Buffer.from([0, 0, 128, 63])])
}

const NOISE = { privacy: { noise_multiplier: 1, clip_norm: 1 } }

it.each([
  ['bn1.running_var', NOISE, 'the noise also changes "bn1.running_var"'],
  ['bn/moving_variance', { strategy: 'fedadam' }, 'fedadam also changes "bn/moving_variance"'],
  ['layers/batch_normalization_1/vars/3', NOISE, 'the noise also changes "layers/batch_normalization_1/vars/3"'],
  ['layers/dense_1/vars/3', NOISE, null],
  ['running_var', { strategy: 'fedyogi' }, 'fedopt also changes "running_var"'],
  ['running_var', { strategy: 'fedmedian' }, null],
  ['norm.variance', NOISE, null],
])('a model with the tensor %s is started with %j: warning %s', async (tensor, settings, warning) => {
  const world = await startWorld()
  const { key } = await world.register('a')
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  const body = formOf(fileWith(tensor), {}, 'w.safetensors')
  await world.request('POST', '/api/v1/models/net/versions/upload', { key, body })
  const job = { model: 'net', min_devices: 1, ...settings }
  const { status, headers } = await world.request('POST', '/api/v1/training/jobs', { key, body: job })
  expect(status).toBe(201)
  const given = headers.get('x-service-warning')
  if (warning === null) expect(given).toBeNull()
  else expect(given).toContain(`model: ${warning}, the variances of a batch normalization.`)
})

it.each([
  [{ acme: 5, beta: 4 }, { publish: 'best' }, true],
  [{ acme: 5, beta: 4 }, { stop_when: { improvement_below: 0.1, patience: 1 } }, true],
  [{ acme: 5, beta: 4 }, {}, false],
  [{ acme: 5, beta: 5 }, { publish: 'best' }, false],
  [{ acme: 0, beta: 5 }, { publish: 'best' }, false],
])(
  'with %j active devices, a job with %j is started with a warning of withheld figures: %s',
  async (counts, settings, warns) => {
    const { world, send, keyOf, found } = await openFederation()
    const federation = await found(['beta'])
    const keys = { acme: await keyOf('acme'), beta: await keyOf('beta') }
    for (const org of ['acme', 'beta'] as const) {
      for (let n = 0; n < counts[org]; n++)
        await send(keys[org], 'POST', '/devices/register', { device_id: `${org}-${n}` })
    }
    await send(keys.acme, 'POST', '/models', { name: 'net' })
    await send(keys.acme, 'POST', '/models/net/versions/upload', formOf(dense, {}, 'w.safetensors'))
    const body = { model: 'net', federation, min_devices: 2, ...settings }
    const { status, headers } = await world.request('POST', '/api/v1/training/jobs', { key: keys.acme, body })
    expect(status).toBe(201)
    const given = headers.get('x-service-warning') ?? ''
    expect(given.includes('at least 5 devices of each organization reported')).toBe(warns)
  },
)
