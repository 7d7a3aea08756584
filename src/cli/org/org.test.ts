import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { startWorld } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

it('creates an organization on the service and shows it afterwards', async () => {
  const world = await startWorld()
  const home = await emptyFolder()
  const { key } = await world.register('laptop')
  const svc = (...argv: string[]) => runInProcess(argv, { env: { SERVICE_HOME: home, SERVICE_API_KEY: key } })

  expect(await svc('org', '--api-base', world.baseUrl)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'svc: No organization is configured.\nCreate one with: svc init <org_name>\n',
  })

  const path = join(home, 'config.json')
  const shown =
    'Organization:  Acme Robotics\n' +
    'Id:            acme-robotics\n' +
    'Compliance:    gdpr\n' +
    'Region:        eu\n' +
    `Service:       ${world.baseUrl}\n`
  const argv = ['init', 'Acme Robotics', '--compliance', 'gdpr', '--region', 'eu', '--api-base', world.baseUrl]
  expect(await svc(...argv)).toEqual({
    exitCode: 0,
    stdout: shown,
    stderr: expect.stringMatching(
      /^Settings of the gdpr preset, a starting point and not a certification:\n {2}Second factor: required for admins\n(?:.|\n)*\nSaved in .*\. New keys belong to Acme Robotics\.\nYour key is not bound to an organization\. With this key, svc keys create, groups, team, and federation use Acme Robotics, but what other commands create, such as svc push, does not belong to it\. To use it with all commands, run svc keys create <name>, then svc login --api-key\.\n$/,
    ),
  })
  const kept = {
    org_id: 'acme-robotics',
    org_name: 'Acme Robotics',
    compliance: 'gdpr',
    region: 'eu',
    api_base: world.baseUrl,
  }
  expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(kept)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await world.request('GET', '/api/v1/orgs/acme-robotics', { key })).body).toMatchObject({
    name: 'Acme Robotics',
    compliance: 'gdpr',
    region: 'eu',
  })

  const rules = (await svc('org')).stdout.replace(/ +/g, ' ')
  expect(rules).toContain('Region: eu\n')
  expect(rules).toContain('API keys: last at most 365 days\n')
  const { stdout } = await svc('org', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ ...kept, settings: { key_lifetime_days: 365, violations: [] } })
  const changed = await svc('org', 'set', 'acme-robotics', '--key-lifetime-days', 'none', '--api-base', world.baseUrl)
  // Warnings, if there were any, would be on stderr only.
  expect(changed).toMatchObject({ exitCode: 0, stdout: expect.not.stringContaining('Warnings'), stderr: '' })
  expect((await svc('org')).stderr).toBe('--key-lifetime-days is none; the gdpr preset requires 365.\n')
  const set = (option: string, value: string) => svc('org', 'set', 'acme-robotics', option, value)
  expect((await set('--key-lifetime-days', '0')).stderr).toBe(
    'svc: --key-lifetime-days must be an integer from 1 to 3650 or none, got 0.\n',
  )
  expect((await set('--min-group-size', 'null')).stderr).toContain('It must be a number or none.')

  expect(await svc(...argv)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/\nsvc: The organization 'acme-robotics' already exists\. Choose another name\.\n$/),
  })
})

it.each(['us', 'eu'] as const)(
  "defaults to the installation's region (%s) and no compliance preset",
  async (region) => {
    const world = await startWorld({ config: { region } })
    const { key } = await world.register('laptop')
    const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
    const { stdout } = await runInProcess(['init', 'Acme'], { env })
    expect(stdout).toBe(
      `Organization:  Acme\nId:            acme\nCompliance:    -\nRegion:        ${region}\nService:       ${world.baseUrl}\n`,
    )
  },
)

it('creates no organization if its settings could not be stored', async () => {
  const world = await startWorld()
  const { key } = await world.register('laptop')
  const file = join(await emptyFolder(), 'file')
  await writeFile(file, '')
  for (const [home, reason] of [
    [file, 'it is a file, not a folder'],
    [join(file, 'home'), 'a part of its path is not a folder'],
    ...(process.platform === 'linux'
      ? ([['/proc/nope', 'the file system does not allow new files there']] as const)
      : []),
  ] as const) {
    const env = { SERVICE_HOME: home, SERVICE_API_KEY: key }
    expect(await runInProcess(['init', 'Acme', '--api-base', world.baseUrl], { env })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `svc: Cannot use ${home}: ${reason}.\n`,
    })
  }
  expect((await world.request('GET', '/api/v1/orgs/acme', { key })).status).toBe(404)
})

it('creates no organization if the disk has no space for its settings', async () => {
  const world = await startWorld()
  const { key } = await world.register('laptop')
  const home = await emptyFolder()
  // A limit of one block stands in for the full disk: creating a file succeeds, writing it fails.
  const script = 'ulimit -f 1; exec "$0" "$@"'
  const argv = ['init', 'Acme', '--api-base', world.baseUrl]
  const child = spawn('sh', ['-c', script, process.execPath, await builtFile('cli/main.js'), ...argv], {
    env: { PATH: process.env.PATH, SERVICE_HOME: home, SERVICE_API_KEY: key },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  expect(stderr).toBe(
    `svc: Cannot use ${join(home, 'config.json')}: the file would be larger than allowed (ulimit -f).\n`,
  )
  expect(code).toBe(1)
  expect(await readdir(home)).toEqual([])
  expect((await world.request('GET', '/api/v1/orgs/acme', { key })).status).toBe(404)
})

it('says what to do if an organization was created but its settings cannot be stored', async () => {
  const world = await startWorld()
  const { key } = await world.register('laptop')
  const home = await emptyFolder()
  await mkdir(join(home, 'config.json'))
  const env = { SERVICE_HOME: home, SERVICE_API_KEY: key }
  expect(await runInProcess(['init', 'Acme', '--api-base', world.baseUrl], { env })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(
      /^svc: Acme was created, but is not the default organization\. .+\nTo use it: svc keys create <name> --org acme, then svc login --api-key\.\n$/,
    ),
  })
  const { stderr, exitCode } = await runInProcess(
    ['keys', 'create', 'mine', '--org', 'acme', '--api-base', world.baseUrl],
    { env: { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key } },
  )
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 })
})

it('the commands that use the organization from init do so with an unbound key', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const svc = async (...argv: string[]) => JSON.parse((await runInProcess([...argv, '--json'], { env })).stdout)
  await runInProcess(['init', 'Acme'], { env })
  expect(await svc('keys', 'create', 'k')).toMatchObject({ org_id: 'acme' })
  expect(await svc('groups', 'create', 'g')).toMatchObject({ org_id: 'acme' })
  expect(await svc('team', 'add', 'ada@example.org')).toMatchObject({ org_id: 'acme' })
  expect(await svc('federation', 'create', 'f')).toMatchObject({ org_id: 'acme' })
  await svc('devices', 'register', 'd')
  expect(await svc('devices', 'show', 'd')).toMatchObject({ org_id: 'default' })
})

it('shows the organization of the signed-in key if init was never run', async () => {
  const world = await startWorld()
  const { key } = await world.register('laptop')
  await world.request('POST', '/api/v1/orgs', { key, body: { name: 'Acme', region: 'ap' } })
  const { body } = await world.request('POST', '/api/v1/keys', {
    key,
    body: { name: 'mine', org_id: 'acme', scopes: ['admin'] },
  })
  const env = { SERVICE_HOME: await emptyFolder() }
  const boundKey = (body as { api_key: string }).api_key
  await runInProcess(['login', '--api-key', boundKey, '--api-base', world.baseUrl], { env })
  const { stdout, stderr } = await runInProcess(['org'], { env })
  expect(stderr).toBe('')
  const given = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: boundKey }
  expect((await runInProcess(['org', '--api-base', world.baseUrl], { env: given })).stdout).toBe(stdout)
  expect(stdout.replace(/ +/g, ' ')).toMatch(
    `Organization: Acme\nId: acme\nCompliance: -\nRegion: ap\nService: ${world.baseUrl}\nSecond factor: not required\n`,
  )
})
