import type { AddressInfo } from 'node:net'
import { buildInferenceServer, type InferenceServerOptions } from './build-server.ts'

export interface StartOptions extends InferenceServerOptions {
  /** With 0 the system chooses a free one. */
  readonly port: number
}

export interface InferenceServer {
  readonly address: AddressInfo
  /** Refuses new connections, finishes what is in flight, and gives up on that after a deadline. Models stay open. */
  close(): Promise<void>
}

/** All of a server but its address. */
export interface PreparedServer {
  /** @throws the error of listening, such as EADDRINUSE */
  listen(): Promise<InferenceServer>
  /** Of one that has not listened. */
  close(): Promise<void>
}

export const prepareInferenceServer = async ({ port, ...options }: StartOptions): Promise<PreparedServer> => {
  const app = await buildInferenceServer(options)
  await app.ready()
  const close = async () => app.close()
  const listen = async (): Promise<InferenceServer> => {
    await app.listen({ host: options.host, port })
    return { address: app.server.address() as AddressInfo, close }
  }
  return { listen, close }
}

/** @throws the error of listening, such as EADDRINUSE */
export const startInferenceServer = async (options: StartOptions): Promise<InferenceServer> => {
  const prepared = await prepareInferenceServer(options)
  try {
    return await prepared.listen()
  } catch (error) {
    await prepared.close()
    throw error
  }
}
