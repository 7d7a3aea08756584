import Fastify from 'fastify'
import { expect, test } from 'vitest'
import type { App } from './app.ts'
import { sendWarnings, warn } from './warnings.ts'

test('the warnings of a request are sent in one header, without duplicates, as plain ASCII', async () => {
  const app = Fastify() as unknown as App
  sendWarnings(app)
  app.get('/', async (request) => {
    warn(request as never, "Unknown field 'größe' was ignored.")
    warn(request as never, 'metrics.x is out of range and was recorded as null.')
    warn(request as never, 'metrics.x is out of range and was recorded as null.')
    return {}
  })
  app.get('/quiet', async () => ({}))
  expect((await app.inject('/')).headers['x-service-warning']).toBe(
    "Unknown field 'gr\\u00f6\\u00dfe' was ignored.; metrics.x is out of range and was recorded as null.",
  )
  expect((await app.inject('/quiet')).headers['x-service-warning']).toBeUndefined()
})
