import { onTestFinished } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createControlPlane, type Service } from '../../src/control/app.ts'
import { emptyFolder, freshPostgresUrl } from '../databases.ts'

export interface Member {
  readonly service: Service
  readonly url: string
}

/** Starts services that share one PostgreSQL server and one folder of files. They end with the test. */
export const startCluster = async (size: number): Promise<Member[]> => {
  const config = {
    ...readConfig({ SERVICE_LOG_LEVEL: 'error', SERVICE_RATE_LIMIT_PER_MINUTE: '100000' }),
    databaseUrl: await freshPostgresUrl(),
    dataDir: await emptyFolder(),
  }
  return Promise.all(
    Array.from({ length: size }, async () => {
      const service = await createControlPlane(config)
      onTestFinished(() => service.close())
      return { service, url: await service.app.listen({ host: '127.0.0.1', port: 0 }) }
    }),
  )
}

export const call = async (url: string, method: string, path: string, key?: string, body?: unknown) => {
  const isForm = body instanceof FormData
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}
