import { expect, it } from 'vitest'
import { openStream, type ReceivedStream } from '../operations/events/events.fixture.ts'
import { openFederation } from './federation.fixture.ts'

it('organizations that see a federation are notified of each change, including the one that removes them; others are not', async () => {
  const { world, admin, send, keyOf, found } = await openFederation()
  const [acme, beta, gamma] = [await keyOf('acme'), await keyOf('beta'), await keyOf('gamma')]
  const id = await found()
  const streams: Record<string, ReceivedStream> = {}
  for (const [name, key] of Object.entries({ acme, beta, gamma })) {
    streams[name] = await openStream(world.baseUrl, { key, query: '?topics=federation' })
    expect(await streams[name]!.next()).toMatchObject({ event: 'ready' })
  }
  const told = async (name: string) =>
    expect(await streams[name]!.next()).toMatchObject({
      event: 'federation.changed',
      data: { subject: { kind: 'federation', id }, payload: {} },
    })
  const change = async (key: string, method: string, path: string, body?: unknown) =>
    expect((await send(key, method, `/federations/${id}${path}`, body)).status).toBeLessThan(300)

  await change(acme, 'POST', '/invite', { org_ids: ['beta'] })
  for (const name of ['acme', 'beta']) await told(name)
  await change(beta, 'POST', '/join', { org_id: 'beta' })
  for (const name of ['acme', 'beta']) await told(name)
  await change(acme, 'PUT', '/privacy/budget', { total_epsilon_budget: 3 })
  for (const name of ['acme', 'beta']) await told(name)
  await send(acme, 'POST', '/models', { name: 'scanner' })
  await change(acme, 'POST', '/models', { model_id: 'scanner' })
  for (const name of ['acme', 'beta']) await told(name)
  await change(beta, 'POST', '/analytics/descriptive', { variable: 'battery', group_by: 'federation_member' })
  for (const name of ['acme', 'beta']) await told(name)
  await change(beta, 'DELETE', '/members/beta')
  for (const name of ['acme', 'beta']) await told(name)

  const other = await send(admin, 'POST', '/federations', { name: 'other', org_id: 'gamma' })
  expect(await streams.gamma!.next()).toMatchObject({ data: { subject: { id: other.body.id } } })
  expect((await send(gamma, 'POST', `/federations/${other.body.id}/invite`, { org_ids: ['delta'] })).status).toBe(200)
  expect(await streams.gamma!.next()).toMatchObject({ data: { subject: { id: other.body.id } } })
})
