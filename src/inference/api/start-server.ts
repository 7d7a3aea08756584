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

/** @throws the error of listening, such as EADDRINUSE */
export const startInferenceServer = async ({ port, ...options }: StartOptions): Promise<InferenceServer> => {
  const app = await buildInferenceServer(options)
  try {
    await app.listen({ host: options.host, port })
  } catch (error) {
    await app.close()
    throw error
  }
  return { address: app.server.address() as AddressInfo, close: () => app.close() }
}
