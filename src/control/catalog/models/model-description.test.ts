import { expect, it } from 'vitest'
import { openFederation } from '../../federations/federation.fixture.ts'

it('each change of a description begins with the one before it in the audit log, even among concurrent requests', async () => {
  const { admin, send, keyOf } = await openFederation()
  const key = await keyOf('acme')
  await send(key, 'POST', '/models', { name: 'net', description: 'd0' })
  const requested = Array.from({ length: 12 }, (_, index) => `d${index % 3}`)
  const results = await Promise.all(requested.map((description) => send(key, 'PATCH', '/models/net', { description })))
  expect(results.map(({ status, body }) => [status, body.description])).toEqual(requested.map((one) => [200, one]))
  const { entries } = (await send(admin, 'GET', '/audit?org_id=acme&action=updateModel&result=ok')).body
  const changes = (entries as { changes: { from: string; to: string }[] }[]).map((entry) => entry.changes[0]!)
  const last = JSON.stringify((await send(key, 'GET', '/models/net')).body.description)
  expect([...changes.map(({ to }) => to), '"d0"']).toEqual([last, ...changes.map(({ from }) => from)])
})
