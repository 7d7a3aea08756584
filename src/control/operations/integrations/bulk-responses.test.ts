import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { startWorld } from '../../../../test/world.ts'
import { startReceiver } from './receiver.fixture.ts'

const AT = '/api/v1/integrations'

interface Integration {
  readonly id: string
  readonly pending: number
  readonly failures: number
  readonly dead_letters: number
  readonly last_error: string | null
}

interface Sent {
  readonly type: string
  readonly subject: { readonly id: string }
}

interface Rejected {
  readonly status: number
  readonly error: object
}

const MAPPING = {
  type: 'document_parsing_exception',
  reason: "failed to parse field [payload.name] of type [long] in document with id '1'",
  caused_by: { type: 'illegal_argument_exception', reason: 'For input string: "a"' },
}
const BUSY = { type: 'es_rejected_execution_exception', reason: 'rejected execution of coordinating operation' }

/** Responds like Elasticsearch's bulk API: 200, with a status for each document; it stores each id once. */
const startIndex = async () => {
  const receiver = await startReceiver()
  const documents = new Map<string, Sent>()
  const index = { receiver, documents, rejectedBecause: (_event: Sent): Rejected | null => null }
  receiver.respond = ({ body }, response) => {
    const lines = body
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const items = Array.from({ length: lines.length / 2 }, (_, n) => {
      const { _id } = lines[2 * n].create
      const event: Sent = lines[2 * n + 1]
      if (documents.has(_id))
        return { create: { _id, status: 409, error: { type: 'version_conflict_engine_exception' } } }
      const rejected = index.rejectedBecause(event)
      if (rejected !== null) return { create: { _id, ...rejected } }
      documents.set(_id, event)
      return { create: { _id, status: 201 } }
    })
    const errors = items.some(({ create }) => create.status >= 300)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ took: 1, errors, items }))
  }
  return index
}

const start = async () => {
  const world = await startWorld()
  const { key } = await world.register('d')
  const ask = async <Answer>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Answer> => {
    const response = await world.request(method, path, { key, ...(body === undefined ? {} : { body }) })
    if (response.status >= 300) throw new Error(JSON.stringify(response.body))
    return response.body as Answer
  }
  const show = (id: string) => ask<Integration>('GET', `${AT}/${id}`)
  return {
    world,
    ask,
    show,
    create: (endpoint: string, topics = ['group']) =>
      ask<Integration>('POST', AT, { kind: 'logs', type: 'elasticsearch', endpoint, topics }),
    /** Causes an event by creating a group. */
    happen: (name: string) => ask<{ id: string }>('POST', '/api/v1/device-groups', { org_id: 'o', name }),
    until: async (id: string, isDone: (shown: Integration) => boolean): Promise<Integration> => {
      for (let minute = 0; minute < 60; minute++) {
        await world.advance(60)
        const shown = await show(id)
        if (isDone(shown)) return shown
      }
      throw new Error('It did not happen within an hour.')
    },
  }
}

it('events that Elasticsearch is too busy for, inside a response with status 200, are sent until accepted', async () => {
  const { create, happen, until } = await start()
  const index = await startIndex()
  let isBusy = true
  index.rejectedBecause = () => (isBusy ? { status: 429, error: BUSY } : null)
  const { id } = await create(index.receiver.url)
  for (const name of ['a', 'b']) await happen(name)
  const waiting = await until(id, ({ failures }) => failures > 1)
  expect(waiting).toMatchObject({
    pending: 2,
    dead_letters: 0,
    last_error: `The receiver returned 429: ${BUSY.type}: ${BUSY.reason}`,
  })
  isBusy = false
  expect(await until(id, ({ pending }) => pending === 0)).toMatchObject({ failures: 0, dead_letters: 0 })
  expect(index.documents.size).toBe(2)
})

it('an event that does not fit the mapping is set aside with the reason, and the others are stored once', async () => {
  const { ask, create, happen, until } = await start()
  const index = await startIndex()
  // Unavailable until all events exist, so that they come in one request.
  let isAway = true
  const answer = index.receiver.respond
  index.receiver.respond = (request, response) =>
    isAway ? void response.writeHead(503).end() : answer(request, response)
  const { id } = await create(index.receiver.url)
  await happen('a')
  const bad = await happen('b')
  await happen('c')
  index.rejectedBecause = ({ subject }) => (subject.id === bad.id ? { status: 400, error: MAPPING } : null)
  isAway = false
  const error = `The receiver returned 400: ${MAPPING.type}: ${MAPPING.reason}: ${MAPPING.caused_by.reason}`
  expect(await until(id, ({ pending }) => pending === 0)).toMatchObject({ dead_letters: 1, last_error: error })
  expect(await ask('GET', `${AT}/${id}/dead-letters`)).toMatchObject({
    dead_letters: [{ reason: error, event: { subject: { id: bad.id } } }],
  })
  expect(index.documents.size).toBe(2)
  expect(await ask('POST', `${AT}/${id}/replay`)).toEqual({ delivered: 0, remaining: 1, error })
  index.rejectedBecause = () => null
  expect(await ask('POST', `${AT}/${id}/replay`)).toEqual({ delivered: 1, remaining: 0, error: null })
  expect(index.documents.size).toBe(3)
})

it.skipIf(!hasPostgres())(
  'an event that waits for another transaction to end is shown as pending, and is sent then',
  async () => {
    const { world, create, show, happen, until } = await start()
    const index = await startIndex()
    const { id } = await create(index.receiver.url)
    const older = await world.database!.sql.startTransaction().execute()
    onTestFinished(async () => {
      if (!older.isCommitted) await older.rollback().execute()
    })
    await sql`select pg_current_xact_id()`.execute(older)
    await happen('a')
    await world.advance(60)
    expect(await show(id)).toMatchObject({ pending: 1, failures: 0 })
    const { body } = await world.request('GET', '/metrics')
    expect(body).toMatch(new RegExp(`tributary_integration_lag_seconds{integration_id="${id}",.*} 60\\n`))
    expect(index.receiver.received).toEqual([])
    await older.commit().execute()
    await until(id, ({ pending }) => pending === 0)
    expect(index.documents.size).toBe(1)
  },
)

it('two installations that write into one index do not confuse their events', async () => {
  const index = await startIndex()
  for (const name of ['a', 'b']) {
    const { create, happen, until } = await start()
    const { id } = await create(index.receiver.url, ['group', 'audit'])
    await happen(name)
    await until(id, ({ pending }) => pending === 0)
  }
  const types = [...index.documents.values()].map(({ type }) => type).toSorted()
  const each = ['audit.createGroup', 'audit.createIntegration', 'group.changed']
  expect(types).toEqual(each.flatMap((type) => [type, type]))
})

it('a page with status 200 that is not a response of the bulk API does not count as a delivery', async () => {
  const { create, happen, until, ask } = await start()
  const { receiver } = await startIndex()
  receiver.respond = (_request, response) => void response.writeHead(200).end('<html>Sign in</html>')
  const { id } = await create(receiver.url)
  await happen('a')
  const shown = await until(id, ({ failures }) => failures > 0)
  expect(shown.pending).toBe(1)
  expect(await ask('POST', `${AT}/${id}/test`)).toMatchObject({
    ok: false,
    response: expect.stringContaining("This is not a response of Elasticsearch's bulk API. Check the endpoint"),
  })
})
