import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { startReceiver } from '../../src/control/operations/integrations/receiver.fixture.ts'
import { emptyFolder } from '../databases.ts'
import { operatorOf } from './operator.ts'
import { onServer, runService, until } from './service-process.ts'

interface Sent {
  readonly events: readonly { readonly type: string; readonly subject: { readonly id: string } }[]
}
interface Shown {
  readonly id: string
  readonly failures: number
  readonly last_error: string | null
}

const groupsIn = (text: string): string[] =>
  (JSON.parse(text) as Sent).events.filter(({ type }) => type === 'group.changed').map(({ subject }) => subject.id)

it('a receiver is slow, responds with 429 and 500, and is down while the service is killed: all events arrive in order', async () => {
  const [dataDir, server] = await Promise.all([emptyFolder(), onServer()])
  let service = await runService(dataDir, server)
  const operator = await operatorOf(() => service.baseUrl)
  const receiver = await startReceiver()
  const other = await startReceiver()
  const taken: string[] = []
  const take = (body: Buffer, response: ServerResponse): void => {
    taken.push(...groupsIn(body.toString()))
    response.writeHead(204).end()
  }
  const connect = (endpoint: string) => operator.ask<Shown>('POST', '/integrations', { type: 'webhook', endpoint })
  const { id } = await connect(receiver.url)
  await connect(other.url)
  const failed = (error: string) =>
    until(
      () => operator.ask<Shown>('GET', `/integrations/${id}`),
      ({ last_error }) => last_error?.startsWith(error) === true,
    )
  const groups: string[] = []
  /** Succeeds regardless of the receiver. */
  const create = async (name: string): Promise<void> => {
    groups.push((await operator.ask<{ id: string }>('POST', '/device-groups', { org_id: 'o', name })).id)
  }

  // Slow: it responds only after the requests are done.
  const held = new Promise<() => void>((resolve) => {
    receiver.respond = (_request, response) =>
      resolve(() => response.writeHead(429, { 'retry-after': '3' }).end('too many'))
  })
  await create('a')
  const answer = await held
  await create('b')
  await create('c')
  receiver.respond = (_request, response) => void response.writeHead(500).end('broken')
  const requests = receiver.received.length
  const since = performance.now()
  answer()
  await failed('The receiver returned 429: too many')
  await until(
    async () => receiver.received.length,
    (length) => length > requests,
  )
  expect(performance.now() - since).toBeGreaterThanOrEqual(2990)
  await failed('The receiver returned 500: broken')

  await receiver.down()
  await create('d')
  await failed('Nothing listens there')
  await service.kill()
  service = await runService(dataDir, server)
  await create('e')
  await create('refused')
  const refused = groups.at(-1)!
  let isPicky = true
  receiver.respond = ({ body }, response) => {
    if (isPicky && body.includes(refused)) response.writeHead(422).end('unknown group')
    else take(body, response)
  }
  await receiver.up()
  const letters = await until(
    () => operator.ask<{ dead_letters: object[] }>('GET', `/integrations/${id}/dead-letters`),
    ({ dead_letters }) => dead_letters.length > 0,
  )
  expect(letters.dead_letters).toMatchObject([{ event: { subject: { id: refused } }, reason: /unknown group/ }])
  isPicky = false
  await operator.ask('POST', `/integrations/${id}/replay`)
  expect([...new Set(taken)]).toEqual(groups)
  const elsewhere = async () => [...new Set(other.texts().flatMap(groupsIn))]
  expect(await until(elsewhere, ({ length }) => length >= groups.length)).toEqual(groups)
})
