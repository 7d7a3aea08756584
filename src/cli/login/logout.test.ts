import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
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
      `svc: This needs an API key for ${world.baseUrl}, and you are not signed in there, but to ${elsewhere}.\n` +
      `Sign in with: svc login --api-base ${world.baseUrl}. Or set SERVICE_API_KEY.\n`,
  })
  expect((await logout('--all')).stdout).toBe(`Signed out of ${elsewhere}.\n`)
  expect((await logout('--all')).stdout).toBe('You are not signed in anywhere.\n')
  await expect(readFile(path)).rejects.toThrow('ENOENT')
})

it('without keys, logout --all changes nothing', async () => {
  const home = join(await emptyFolder(), 'missing')
  expect(await runInProcess(['logout', '--all'], { env: { SERVICE_HOME: home } })).toMatchObject({
    exitCode: 0,
    stdout: 'You are not signed in anywhere.\n',
  })
  await expect(stat(home)).rejects.toThrow('ENOENT')
})

it('another svc that is changing the keys is waited for, until its lock is no longer renewed', async () => {
  const home = await emptyFolder()
  const path = join(home, 'credentials.json')
  const lock = `${path}.lock`
  await writeFile(path, JSON.stringify({ api_key: 'k', org_id: null, api_base: 'https://a.example.org' }))
  await writeFile(lock, '1 elsewhere.example of-a-process-that-runs')
  const logout = () => runInProcess(['logout', '--all'], { env: { SERVICE_HOME: home } })
  expect(await logout()).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      `svc: Another svc is changing ${path} (process 1 on elsewhere.example).\n` +
      `If no other svc is running, delete ${lock}.\n`,
  })
  const past = new Date(Date.now() - 121_000)
  await utimes(lock, past, past)
  expect(await logout()).toMatchObject({ exitCode: 0, stdout: 'Signed out of https://a.example.org.\n' })
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
  const key = world.service.firstAdminKey!
  const env = { SERVICE_HOME: home, SERVICE_API_KEY: key }
  const withKey = await runInProcess(['doctor', '--json', '--api-base', world.baseUrl], { env })
  expect((JSON.parse(withKey.stdout) as { checks: { check: string }[] }).checks).toContainEqual(
    expect.objectContaining({ check: 'Key', state: 'ok' }),
  )
  await rm(join(home, 'config.json'))
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
