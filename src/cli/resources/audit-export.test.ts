import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

const auditExport = (base: string, key: string, cwd: string, ...argv: string[]) =>
  runInProcess(['audit', 'export', ...argv], { env: { SERVICE_API_BASE: base, SERVICE_API_KEY: key }, cwd })

it('prints the audit log, or writes it to a new file for the owner only', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net', org_id: 'default' } })
  const folder = await emptyFolder()
  const printed = await auditExport(world.baseUrl, key, folder)
  expect(printed).toMatchObject({ exitCode: 0, stderr: '' })
  expect(
    printed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).action),
  ).toContain('createModel')
  expect(await auditExport(world.baseUrl, key, folder, '--format', 'csv', '-o', 'log.csv')).toMatchObject({
    exitCode: 0,
  })
  expect(await readFile(join(folder, 'log.csv'), 'utf8')).toContain('createModel')
  await writeFile(join(folder, 'mine'), 'x')
  const refused = async (path: string) => {
    const { exitCode, stderr } = await auditExport(world.baseUrl, key, folder, '-o', path)
    expect(exitCode).toBe(1)
    return stderr.replaceAll(`${folder}/`, '')
  }
  expect(await refused('mine')).toBe(
    'svc: mine cannot be written: it already exists.\nChoose a file that does not exist yet.\n',
  )
  expect(await refused('nowhere/x')).toBe('svc: nowhere/x cannot be written: its folder does not exist.\n')
  expect(await refused('mine/x')).toBe('svc: mine/x cannot be written: a part of its path is not a folder.\n')
  expect(await readFile(join(folder, 'mine'), 'utf8')).toBe('x')
})

it('reports an unreachable service, and leaves no partial file if the connection breaks midway', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': 100, 'content-type': 'application/x-ndjson' })
    response.write('{"seq":1}\n', () => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const key = `sk_live_${'a'.repeat(32)}`
  const folder = await emptyFolder()
  const broken = await auditExport(base, key, folder, '-o', 'log')
  expect(broken).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`svc: Cannot reach ${base} (`) })
  expect(await readdir(folder)).toEqual([])
  server.close()
  server.closeAllConnections()
  const away = await auditExport(base, key, folder)
  expect(away).toMatchObject({ exitCode: 1, stdout: '' })
  expect(away.stderr).toContain(`svc: Cannot reach ${base} (connection refused).\nIs the service running?`)
})
