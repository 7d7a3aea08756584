import { expect, it } from 'vitest'
import { startFleet, startJob, uploadModel } from '../../../test/training-fleet.ts'
import { startWorld } from '../../../test/world.ts'
import { createRandom } from '../../domain/random-numbers.ts'
import { openFederation } from './federation.fixture.ts'

type Body = Record<string, unknown>

const open = async () => {
  const { world, admin, send, keyOf, found } = await openFederation()
  const id = await found(['beta'])
  const ask = (key: string, query: string) => send(key, 'GET', `/federations/${id}/privacy/${query}`)
  await send(admin, 'PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 2 })
  return { world, admin, send, keyOf, id, ask }
}

/** Every number in a response, at any depth; null where JSON could not represent a number. */
const numbersOf = (value: unknown): (number | null)[] => {
  if (typeof value === 'number') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(numbersOf)
}

/** Random finite doubles from the whole range, including many extreme ones. */
const doubles = (seed: number) => {
  const special = [5e-324, 1e-320, 2.3e-308, 1e-300, 1e-20, 1e-9, 1 - 2 ** -53, 1, 3e15, 1e16, 1e308, Number.MAX_VALUE]
  const random = createRandom(seed)
  return {
    any: () => (random() < 0.3 ? special[Math.floor(random() * special.length)]! : 10 ** (631 * random() - 323)),
    /** Mostly within the range of the field. */
    upTo: (most: number) => (random() < 0.2 ? 10 ** (631 * random() - 323) : most * 10 ** (-40 * random() ** 4)),
    whole: (most: number) => Math.ceil(most ** random()),
  }
}

it('questions with extreme numbers are answered with finite numbers', async () => {
  const { admin, ask } = await open()
  for (const query of [
    'estimate?noise_multiplier=1e16&sample_rate=0.01',
    'estimate?noise_multiplier=3e15&sample_rate=0.01',
    'estimate?noise_multiplier=1e308&sample_rate=1e-300&num_steps=1000000',
    'estimate?noise_multiplier=0.01&sample_rate=5e-324&num_steps=1000000000&target_delta=5e-324',
    'estimate?noise_multiplier=1e-9&sample_rate=0.5',
    'rounds-left?noise_multiplier=1e300&sample_rate=0.01',
    'noise-for-epsilon?sample_rate=1e-9&target_epsilon=1e308',
    'noise-for-epsilon?sample_rate=1e-300&num_steps=1000000&target_epsilon=5e-324',
  ]) {
    const { status, body } = await ask(admin, query)
    expect([query, status, numbersOf(body).every(Number.isFinite)]).toEqual([query, 200, true])
  }
})

it('questions about too little noise are refused with the minimum', async () => {
  const { admin, ask } = await open()
  for (const noise of ['1e-20', '1e-320']) {
    const message =
      `noise_multiplier ${noise} is below 1e-9, which gives no protection. Use at least 1e-9; ` +
      'common values lie between 0.5 and 10.'
    for (const question of ['estimate', 'rounds-left']) {
      expect(await ask(admin, `${question}?noise_multiplier=${noise}&sample_rate=0.01`)).toEqual({
        status: 400,
        body: { error: 'bad_request', message, status_code: 400 },
      })
    }
  }
})

it('a round or a job with noise of 1e-320 is refused, and a round with 1e-9 costs a finite epsilon', async () => {
  const world = await startWorld()
  const fleet = await startFleet(world, 2)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const round = (noise_multiplier: number) => ({
    target_devices: 2,
    min_devices: 2,
    global_model_id: 'beginner',
    privacy: { noise_multiplier, clip_norm: 1 },
  })
  const start = (body: object) => world.request('POST', '/api/v1/training/rounds/start', { key, body })
  const message = expect.stringMatching(/^noise_multiplier 1e-320 is below 1e-9, .* Use at least 1e-9;/)
  expect(await start(round(1e-320))).toMatchObject({ status: 400, body: { message } })
  const { privacy } = round(1e-320)
  expect(await startJob(world, key, { privacy })).toMatchObject({ status: 400, body: { message } })
  const started = await start(round(1e-9))
  expect(started).toMatchObject({ status: 201, body: { privacy: { epsilon: expect.any(Number) } } })
})

it('any finite numbers get a finite answer or a reason, and the service keeps answering', async () => {
  const { admin, send, id, ask } = await open()
  const { any, upTo, whole } = doubles(20260101)
  const questions = [
    () => `estimate?noise_multiplier=${any()}&sample_rate=${upTo(1)}&num_steps=${whole(1e9)}&target_delta=${upTo(1)}`,
    () => `estimate?noise_multiplier=${any()}&sample_rate=${upTo(1)}`,
    () => `rounds-left?noise_multiplier=${any()}&sample_rate=${upTo(1)}&target_delta=${upTo(1)}`,
    () => `noise-for-epsilon?sample_rate=${upTo(1)}&num_steps=${whole(1e9)}&target_epsilon=${any()}`,
    () => `noise-for-epsilon?sample_rate=${upTo(1)}&target_delta=${upTo(1)}&num_steps=${whole(1e15)}`,
    () => 'history',
  ]
  for (const [n, question] of questions.entries()) {
    const body = { total_epsilon_budget: any(), total_delta_budget: upTo(1) }
    const [health, ...responses] = await Promise.all([
      send(admin, 'GET', '/health'),
      ask(admin, question()),
      ...(n === 0 ? [send(admin, 'PUT', `/federations/${id}/privacy/budget`, body)] : []),
    ])
    expect(health).toMatchObject({ status: 200 })
    for (const response of responses) {
      expect([200, 400]).toContain(response.status)
      expect(numbersOf(response.body).every(Number.isFinite)).toBe(true)
      expect(response.status === 200 || String(response.body.message).length > 20).toBe(true)
    }
  }
})

it('sixty questions from one organization leave another organization its turn', async () => {
  const { keyOf, ask } = await open()
  const [acme, beta] = [await keyOf('acme'), await keyOf('beta')]
  const order: string[] = []
  const query = (n: number) => `estimate?noise_multiplier=${2 + n / 100}&sample_rate=0.1&num_steps=1000`
  // Starts both threads before the measurement.
  await Promise.all([ask(acme, query(98)), ask(beta, query(99))])
  const many = Array.from({ length: 60 }, (_, n) =>
    ask(acme, query(n)).then((response) => {
      order.push('acme')
      return response
    }),
  )
  const one = ask(beta, query(61)).then((response) => {
    order.push('beta')
    return response
  })
  expect(await one).toMatchObject({ status: 200 })
  const statuses = (await Promise.all(many)).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  const refused = (await Promise.all(many)).find(({ status }) => status === 429)!.body as Body
  expect(refused).toEqual({
    error: 'rate_limited',
    message: 'Too many privacy accounting requests are waiting. Try again in 2 s.',
    status_code: 429,
  })
  // Every request's second question, about the federation's current cost, is the same. Refused requests were answered at once.
  const computed = order.slice(statuses.filter((status) => status === 429).length)
  expect(computed.indexOf('beta')).toBeLessThan(computed.length / 2)
})
