import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../test/databases.ts'
import { readConfig } from '../config.ts'
import { createControlPlane } from './app.ts'

/** Starts a service on a database of its own, and opens another session of it. */
const open = async () => {
  const databaseUrl = await freshPostgresUrl()
  const config = { ...readConfig({ SERVICE_LOG_LEVEL: 'silent' }), databaseUrl, dataDir: await emptyFolder() }
  const service = await createControlPlane(config)
  const admin = new pg.Client(databaseUrl)
  await admin.connect()
  onTestFinished(async () => {
    await admin.end()
    await service.close()
  })
  return { databaseUrl, config, service, admin }
}

it.skipIf(!hasPostgres())(
  'a read-only database, such as a standby, is an outage until it is writable again',
  async () => {
    const { databaseUrl, config, service, admin } = await open()
    const name = new URL(databaseUrl).pathname.slice(1)
    const base = await service.app.listen({ host: '127.0.0.1', port: 0 })
    const becomes = (readOnly: 'on' | 'off') =>
      admin.query(`alter database ${name} set default_transaction_read_only = ${readOnly};
      select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`)
    const get = async (path: string) => {
      const response = await fetch(`${base}${path}`)
      return { status: response.status, text: await response.text() }
    }
    const register = async () => {
      const response = await fetch(`${base}/api/v1/devices/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"device_id": "d"}',
      })
      return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
    }

    await becomes('on')
    const message =
      'The database of the service is read-only, for example a standby after a failover. Try again in a moment.'
    await expect.poll(register).toEqual({
      status: 503,
      retryAfter: '2',
      body: { error: 'unavailable', message, status_code: 503 },
    })
    const ready = await get('/ready')
    expect([ready.status, JSON.parse(ready.text).checks.database]).toEqual([503, 'failed'])
    expect((await get('/metrics')).text).toContain('tributary_database_up 0\n')
    const shown = databaseUrl.replace(/\?.*/, '')
    await expect(createControlPlane(config)).rejects.toThrow(
      `The PostgreSQL server that SERVICE_DATABASE_URL names (${shown}) is read-only: it is a standby, or ` +
        'default_transaction_read_only is on. Promote it, turn that off, or correct the URL.',
    )
    await becomes('off')
    await expect.poll(async () => (await get('/ready')).status).toBe(200)
    expect((await register()).status).toBe(201)
  },
)

it.skipIf(!hasPostgres())('GET /metrics responds while its queries wait for a lock', async () => {
  const { service, admin } = await open()
  await admin.query('begin; lock table devices in access exclusive mode')
  const { statusCode, body } = await service.app.inject('/metrics')
  expect(statusCode).toBe(200)
  expect(body).toContain('process_resident_memory_bytes')
  expect(body).toContain('tributary_database_up 1\n')
  expect(body).not.toContain('tributary_rounds')
})
