import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

it('deletes the key for one address and keeps the others', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const home = await emptyFolder()
  const env = { SERVICE_HOME: home }
  const elsewhere = 'https://b.example.org'
  const key = world.service.firstAdminKey!
  expect((await runInProcess(['login', '--api-key', key, '--api-base', world.baseUrl], { env })).exitCode).toBe(0)
  const path = join(home, 'credentials.json')
  const kept = JSON.parse(await readFile(path, 'utf8'))
  const other = { ...kept, api_base: elsewhere }
  await writeFile(path, JSON.stringify({ ...kept, others: [other] }))

  const logout = (...argv: string[]) => runInProcess(['logout', ...argv], { env })
  expect(await logout()).toEqual({
    exitCode: 0,
    stdout: `Signed out of ${world.baseUrl}.\n`,
    stderr: 'The key stays valid until it expires or an admin revokes it: svc keys revoke.\n',
  })
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(other)
  expect(await runInProcess(['keys', 'list', '--api-base', world.baseUrl], { env })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      `svc: This needs an API key of ${world.baseUrl}, and you are not signed in there, but to ${elsewhere}.\n` +
      `Sign in with: svc login --api-base ${world.baseUrl}. Or set SERVICE_API_KEY.\n`,
  })
  expect((await logout('--all')).stdout).toBe(`Signed out of ${elsewhere}.\n`)
  expect((await logout('--all')).stdout).toBe('You are not signed in anywhere.\n')
  await expect(readFile(path)).rejects.toThrow('ENOENT')
})
