import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { GLOBAL, type Member, meansOf, secureFleet, stepsOf, tensorsOf } from '../../../../test/secure-fleet.ts'
import type { World } from '../../../../test/world.ts'
import { secureSettings } from '../../../secure-aggregation/settings.ts'
import { decodeElements, encodeElements } from '../../../tensors/elements.ts'

const [eta, b1, b2, tau] = [0.1, 0.9, 0.99, 1e-3]

/** One step of Adam for a change in f64, rounded once to the tensor's type. */
const adamStep = (before: readonly number[], change: readonly number[], dtype: 'f16' | 'f32'): number[] => {
  const after = before.map((w, i) => {
    const m = (1 - b1) * change[i]!
    const v = b2 * tau ** 2 + (1 - b2) * change[i]! ** 2
    return w + (eta * m) / (Math.sqrt(v) + tau)
  })
  return [...decodeElements(encodeElements(after, dtype), dtype)]
}

const playRound = async (world: World, members: readonly Member[], fields: object): Promise<string> => {
  const { key } = members[0]!
  const started = await world.request('POST', '/api/v1/training/rounds/start', {
    key,
    body: {
      min_devices: 2,
      target_devices: members.length,
      global_model_id: 'small',
      secure_aggregation: {},
      ...fields,
    },
  })
  expect(started).toMatchObject({ status: 201 })
  const { id } = started.body as { id: string }
  const steps = stepsOf(id, secureSettings({ devices: members.length }))
  for (const step of ['keys', 'shares', 'masked', 'unmask'] as const) {
    for (const member of members) await steps[step](member)
    await world.service.runDueTasks()
  }
  return id
}

it('a secure round gives the optimizer the mean change in 64 bits, and rounds the result only once', async () => {
  const { world, members } = await secureFleet(3)
  const { key } = members[0]!
  const id = await playRound(world, members, { strategy: 'fedadam' })
  const round = await world.request('GET', `/api/v1/training/rounds/${id}/status`, { key })
  const { status, aggregated_model_id: modelId } = round.body as { status: string; aggregated_model_id: string }
  expect(status).toBe('completed')
  const file = await fetch(`${world.baseUrl}/api/v1/models/${modelId}/versions/1/download`, {
    headers: { authorization: `Bearer ${key}` },
  })
  const before = tensorsOf(GLOBAL)
  const means = meansOf(members, secureSettings({ devices: 3 }))
  expect(tensorsOf(new Uint8Array(await file.arrayBuffer()))).toEqual({
    'a.bias': adamStep(before['a.bias']!, [...means.subarray(0, 6)], 'f16'),
    'b.weight': adamStep(before['b.weight']!, [...means.subarray(6)], 'f32'),
    steps: before.steps,
  })

  const replay = async () =>
    (await world.request('POST', `/api/v1/training/rounds/${id}/receipt/replay`, { key })).body as object
  expect(await replay()).toMatchObject({ matches: true })
  // Older rounds are replayed as they were aggregated, with a mean that was rounded first.
  await world
    .database!.sql.updateTable('rounds')
    .set({ plan: sqlWithout('exactMean') })
    .where('id', '=', id)
    .execute()
  expect(await replay()).toMatchObject({ matches: false })
})

const sqlWithout = (field: string) => sql<never>`plan - ${field}::text`
