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
