import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

export const HOST = '127.0.0.1'

/** Finds a free port for a program that cannot choose one itself. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
