import { readFile, rm, writeFile } from 'node:fs/promises'
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

it('a damaged credentials.json is reported by doctor, and replaced or deleted as its message advises', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const home = await emptyFolder()
  const path = join(home, 'credentials.json')
  const svc = (...argv: string[]) => runInProcess(argv, { env: { SERVICE_HOME: home } })
  await writeFile(path, '{')
  await writeFile(join(home, 'config.json'), '[]')
  const { exitCode, stdout } = await svc('doctor', '--json')
  const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; found: string }[] }
  expect([exitCode, checks.filter(({ check }) => check === 'Settings')]).toMatchObject([
    1,
    [
      { state: 'fail', found: `${path} is damaged: it does not contain a JSON object.` },
      { state: 'fail', found: `${join(home, 'config.json')} is damaged: it does not contain a JSON object.` },
    ],
  ])
  await rm(join(home, 'config.json'))
  const key = world.service.firstAdminKey!
  expect(await svc('login', '--api-key', key)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('which replaces it: svc login --api-base'),
  })
  expect(await svc('logout', '--all')).toEqual({
    exitCode: 0,
    stdout: `Deleted ${path}, which was damaged.\n`,
    stderr: '',
  })
  await writeFile(path, '{')
  expect(await svc('login', '--api-key', key, '--api-base', world.baseUrl)).toMatchObject({ exitCode: 0 })
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ api_key: key, org_id: null, api_base: world.baseUrl })
})
