import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Random } from '../../src/sdk/trainers/random.ts'
import { count, type Records } from './records.ts'

interface Batch {
  readonly events: readonly { readonly id: string }[]
}

/** An integration's receiver: often responds with 500, and records the events that it accepted. */
export const startReceiver = async (random: Random, records: Records) => {
  let isHealed = false
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return
    }
    if (!isHealed && random.uniform() < 0.2) return void response.writeHead(500).end()
    for (const { id } of (JSON.parse(Buffer.concat(chunks).toString()) as Batch).events) {
      count(records, records.received.has(Number(id)) ? 'events delivered again' : 'events delivered')
      records.received.add(Number(id))
    }
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    heal: () => {
      isHealed = true
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
