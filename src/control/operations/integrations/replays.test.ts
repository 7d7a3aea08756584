import { expect, it } from 'vitest'
import { startWorld } from '../../../../test/world.ts'
import { startReceiver } from './receiver.fixture.ts'

const AT = '/api/v1/integrations'
const LETTERS = 12

/** An integration with letters whose events are numbered from 1. */
const start = async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const receiver = await startReceiver()
  const ask = async (method: string, path: string, body?: object) =>
    (await world.request(method, path, { key, ...(body && { body }) })).body as Record<string, unknown>
  const { id } = (await ask('POST', AT, {
    kind: 'logs',
    type: 'webhook',
    endpoint: receiver.url,
    topics: ['round'],
  })) as { id: string }
  await world
    .database!.sql.insertInto('integration_dead_letters')
    .values(
      Array.from({ length: LETTERS }, (_, n) => ({
        integration_id: id,
        event: JSON.stringify({
          id: `e${n + 1}`,
          type: 't',
          org_id: null,
          subject: { kind: 'k', id: null },
          payload: {},
        }),
        reason: 'refused',
        at: world.now(),
      })),
    )
    .execute()
  const sent = () => receiver.texts().map((text) => /"e\d+"/.exec(text)![0])
  const replay = () =>
    ask('POST', `${AT}/${id}/replay`) as Promise<{ delivered: number; remaining: number; error: unknown }>
  return { world, receiver, sent, replay }
}

it('replays at the same time send each letter once, and count what they sent themselves', async () => {
  const { sent, replay } = await start()
  const replays = await Promise.all([replay(), replay(), replay()])
  expect(sent().sort()).toEqual(Array.from({ length: LETTERS }, (_, n) => `"e${n + 1}"`).sort())
  expect(replays.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(LETTERS)
  expect(replays.map(({ error }) => error)).toEqual([null, null, null])
  expect(await replay()).toEqual({ delivered: 0, remaining: 0, error: null })
})

it('a letter that is refused again can be replayed at once; one of a process that stopped, later', async () => {
  const { world, receiver, sent, replay } = await start()
  receiver.respond = ({ body }, response) => void response.writeHead(body.includes('"e3"') ? 422 : 204).end()
  expect(await replay()).toMatchObject({
    delivered: 2,
    remaining: LETTERS - 2,
    error: expect.stringContaining('422'),
  })
  receiver.respond = (_request, response) => void response.writeHead(204).end()
  const letters = world.database!.sql.updateTable('integration_dead_letters')
  const [held, lapsed] = [new Date('2999-01-01T00:00:00Z'), new Date('2001-01-01T00:00:00Z')]
  await letters.set({ lease_until: lapsed }).where('reason', '=', 'refused').execute()
  const last = await world
    .database!.sql.selectFrom('integration_dead_letters')
    .select('id')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  await letters.set({ lease_until: held }).where('id', '=', last.id).execute()
  expect(await replay()).toEqual({ delivered: LETTERS - 3, remaining: 1, error: null })
  expect(sent()).not.toContain(`"e${LETTERS}"`)
})

it('a letter about an entry of the audit log has the names that the log has at the time: erased ones are gone', async () => {
  const world = await startWorld()
  const [phone, admin] = [await world.register('carols-phone'), await world.register('admin')]
  const receiver = await startReceiver()
  const ask = async (method: string, path: string, key: string, body?: object) =>
    (await world.request(method, `/api/v1${path}`, { key, ...(body && { body }) })).body as Record<string, unknown>
  const hook = { kind: 'logs', type: 'webhook', endpoint: receiver.url, topics: ['audit'] }
  receiver.respond = (_request, response) => void response.writeHead(422).end()
  const { id } = await ask('POST', '/integrations', admin.key, hook)
  await ask('POST', '/device-groups', phone.key, { org_id: 'default', name: 'ward' })
  const letters = async () => {
    await world.advance(1)
    const found = await ask('GET', `/integrations/${id}/dead-letters`, admin.key)
    return (found.dead_letters as { event: { type: string; payload: object } }[]).map(({ event }) => event)
  }
  await expect.poll(letters).toContainEqual(expect.objectContaining({ type: 'audit.createGroup' }))
  const group = async () => (await letters()).find(({ type }) => type === 'audit.createGroup')!.payload
  expect(await group()).toMatchObject({ actor_name: 'carols-phone', object_name: 'ward', address: '127.0.0.1' })
  await ask('POST', '/devices/carols-phone/erase', admin.key, { confirm: 'carols-phone' })
  expect(await group()).toMatchObject({ actor_name: null, object_name: 'ward' })
  const stored = await world.database!.sql.selectFrom('integration_dead_letters').select('event').execute()
  expect(JSON.stringify(stored)).not.toContain('carols-phone')
  receiver.respond = (_request, response) => void response.writeHead(204).end()
  const sent = receiver.texts().length
  await ask('POST', `/integrations/${id}/replay`, admin.key)
  expect(receiver.texts().slice(sent).join()).toContain('audit.createGroup')
  expect(receiver.texts().slice(sent).join()).not.toContain('carols-phone')
})
