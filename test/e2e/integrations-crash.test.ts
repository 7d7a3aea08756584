import { expect, it } from 'vitest'
import { startReceiver } from '../../src/control/operations/integrations/receiver.fixture.ts'
import { freshDataDir } from '../databases.ts'
import { operatorOf } from './operator.ts'
import { runService, until } from './service-process.ts'

interface Sent {
  readonly events: readonly { readonly id: string; readonly type: string; readonly subject: { readonly id: string } }[]
}

it('events reach a receiver that was away while the service was killed: none is lost, and they stay in order', async () => {
  const dataDir = await freshDataDir()
  let service = await runService(dataDir)
  const operator = await operatorOf(() => service.baseUrl)
  const receiver = await startReceiver()
  let isAway = true
  receiver.answer = (_request, response) => void response.writeHead(isAway ? 500 : 204).end()
  await operator.ask('POST', '/integrations', { kind: 'logs', type: 'webhook', endpoint: receiver.url })
  const groups: string[] = []
  const create = async (name: string): Promise<void> => {
    groups.push((await operator.ask<{ id: string }>('POST', '/device-groups', { org_id: 'o', name })).id)
  }
  for (const name of ['a', 'b', 'c']) await create(name)
  await until(
    async () => receiver.received.length,
    (requests) => requests > 0,
  )
  await service.kill()
  service = await runService(dataDir)
  await create('d')
  isAway = false
  const already = receiver.received.length
  const delivered = async (): Promise<string[]> =>
    receiver
      .texts()
      .slice(already)
      .flatMap((text) => (JSON.parse(text) as Sent).events)
      .filter(({ type }) => type === 'group.changed')
      .map(({ subject }) => subject.id)
  expect(await until(delivered, (ids) => ids.length >= groups.length)).toEqual(groups)
})
