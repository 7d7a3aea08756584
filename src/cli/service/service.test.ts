import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { startWorld } from '../../../test/world.ts'
import { checkKeys } from '../../platform/files/key-files.ts'
import { startFleet } from '../delivery/fleet.fixture.ts'
import { type Ran, runInProcess } from '../in-process.fixture.ts'
import { Interrupted } from '../io.ts'

/** Runs the built program, whose service starts in a quarter of the time that it takes from source. */
const svcProgram = async (
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  onOutput: (text: string, child: ChildProcess) => void = () => {},
) => {
  const child = spawn(process.execPath, ['--liftoff-only', await builtFile('cli/main.js'), ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
      onOutput(texts.stdout + texts.stderr, child)
    })
  }
  const [exitCode] = await once(child, 'close')
  return { exitCode, ...texts }
}

it('says that the current folder was deleted', async () => {
  const script = 'rmdir "$PWD"; exec "$0" "$@"'
  const child = spawn('sh', ['-c', script, process.execPath, await builtFile('cli/main.js'), 'doctor'], {
    cwd: await emptyFolder(),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [stderr, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: 'svc: The current folder was deleted. Change to another folder, and run this again.\n',
  })
})

it('svc up starts the service, signs svc in, and stops the service cleanly when the terminal closes', async () => {
  const home = await emptyFolder()
  let listed: Promise<Ran> | null = null
  const { exitCode, stdout, stderr } = await svcProgram(
    ['up', '--port', '0', '--data-dir', `${home}/data`],
    { SERVICE_HOME: home },
    (output, child) => {
      if (listed !== null || !output.includes('Ctrl-C stops the service')) return
      // No browser is needed for a key: this service has open enrollment.
      listed = runInProcess(['devices', 'list'], { env: { SERVICE_HOME: home } })
      void listed.finally(() => {
        child.kill('SIGHUP')
        child.kill('SIGHUP')
      })
    },
  )
  expect(exitCode).toBeNull()
  expect((await listed!).stderr).toBe('No devices. Invite one with: svc devices invite\n')
  const address = /^Dashboard: (\S+)\/$/m.exec(stdout)?.[1]
  expect(stdout).toContain(`Dashboard: ${address}/\nAPI:       ${address}/api/v1, reference: ${address}/docs\n`)
  expect(stderr).toMatch(/svc is signed in to .*\n[\s\S]*Stopping the service once requests in progress are done\.\n$/)
})

it('a service that cannot start says why', async () => {
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_RATE_LIMIT_PER_MINUTE: 'many' }
  const { exitCode, stderr } = await svcProgram(['up', '--port', '0'], env)
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/^SERVICE_RATE_LIMIT_PER_MINUTE must be .*\nsvc: The service ended with exit code 1\.\n/),
  ])
})

it('backup reports a target that is a file', async () => {
  const home = await emptyFolder()
  const file = join(home, 'file')
  await writeFile(file, '')
  const refused = `${file} is not a folder. Choose an empty folder, or one that already contains backups.\n`
  expect(await svcProgram(['backup', 'list', file], { SERVICE_HOME: home })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: ${refused}`,
  })
  const { svc } = await startFleet(1, [])
  expect(await svc('backup', file)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(new RegExp(`svc: (The backup failed: )?${refused}$`)),
  })
})

it('backup refuses a word that misspells a subcommand, unless it is a folder', async () => {
  const { svc } = await startFleet(1, [])
  expect(await svc('backup', 'lst')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: There is no folder lst. Did you mean svc backup list?\nFor a new folder: svc backup ./lst\n',
  })
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'lst'), '')
  const env = { SERVICE_HOME: cwd }
  expect((await runInProcess(['backup', 'lst', '--api-base', 'http://127.0.0.1:9'], { env, cwd })).exitCode).toBe(1)
})

it('an invitation and a QR code name the public address of the service, or the one given', async () => {
  const world = await startWorld({ config: { publicUrl: 'https://fleet.example.org' } })
  const { key } = await world.register('laptop')
  const env = { SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl, SERVICE_HOME: await emptyFolder() }
  const invite = async (...argv: string[]) => (await runInProcess(['devices', 'invite', ...argv], { env })).stdout
  expect(await invite()).toMatch(/^svc agent --join \S+@https:\/\/fleet\.example\.org\n$/)
  expect(await invite('--api-base', world.baseUrl)).toMatch(/@http:\/\/127\.0\.0\.1:\d+\n$/)
  const stop = new AbortController()
  const deploy = ['deploy', 'tiny', '--allow-unknown', '--phone']
  const onOutput = (text: string) => text.startsWith('Code: ') && stop.abort(new Interrupted('SIGINT'))
  const { stderr } = await runInProcess(deploy, { env, signal: stop.signal, onOutput })
  expect(stderr).toContain('or open https://fleet.example.org/pair?code=')
})

it('an invitation registers another machine as a device with one command, once', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const env = { SERVICE_API_KEY: world.service.firstAdminKey!, SERVICE_API_BASE: world.baseUrl }
  const operator = { env: { ...env, SERVICE_HOME: await emptyFolder() }, now: world.now }
  const invited = await runInProcess(['devices', 'invite', '--json'], operator)
  const { join } = JSON.parse(invited.stdout).invitations[0]
  expect(join).toMatch(/^[2-9A-Z]{4}-[2-9A-Z]{4}@http:\/\/127\.0\.0\.1:\d+$/)
  // A shell can run it as it is: it has no placeholders.
  const { stdout: shown } = await runInProcess(['devices', 'invite'], operator)
  expect(shown).toMatch(/^svc agent --join [2-9A-Z]{4}-[2-9A-Z]{4}@http:\/\/127\.0\.0\.1:\d+\n$/)

  const agent = async (home: string, ...argv: string[]) => {
    const stop = new AbortController()
    return runInProcess(['agent', '--interval', '1', ...argv], {
      env: { SERVICE_HOME: home },
      now: world.now,
      signal: stop.signal,
      onOutput: (text) => / is waiting for (rounds|versions) /.test(text) && stop.abort(new Interrupted('SIGINT')),
    })
  }
  const home = await emptyFolder()
  const joined = await agent(home, '--join', join, '--device-id', 'kitchen')
  expect(joined.stdout).toMatch(new RegExp(`^Joined ${world.baseUrl} as kitchen\\.\nDevice kitchen is waiting`))
  // The same command again: the machine is already a device and needs no code.
  expect((await agent(home, '--join', join, '--device-id', 'kitchen')).stderr).toMatch(
    /^This machine is already device kitchen/,
  )
  expect(await agent(await emptyFolder(), '--join', join)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('This pairing code has been used'),
  })
  expect(await agent(home, '--join', 'ABCD-2345')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/^svc: 'ABCD-2345' is not a join code\.\nIt must look like/),
  })
})

it('doctor reports problems with advice and exits with 1', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_BASE: world.baseUrl }
  const states = async (more: Record<string, string>) => {
    const { exitCode, stdout } = await runInProcess(['doctor', '--json'], { env: { ...env, ...more }, now: world.now })
    const { ok, checks } = JSON.parse(stdout) as {
      ok: boolean
      checks: { check: string; state: string; found: string }[]
    }
    expect(ok).toBe(exitCode === 0)
    return Object.fromEntries(checks.map(({ check, state }) => [check, state]))
  }
  const healthy = { Node: 'ok', Service: 'ok', Ready: 'ok', Clock: 'ok' }
  expect(await states({ SERVICE_API_KEY: world.service.firstAdminKey! })).toMatchObject({ ...healthy, Key: 'ok' })
  expect(await states({})).toMatchObject({ ...healthy, Key: 'warn' })
  expect(await states({ SERVICE_API_KEY: 'sk_live_wrong' })).toMatchObject({ ...healthy, Key: 'fail' })
  expect(await states({ SERVICE_API_BASE: 'http://127.0.0.1:1' })).toMatchObject({ Service: 'fail' })
  const other = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const SERVICE_API_BASE = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  expect(await states({ SERVICE_API_BASE })).toMatchObject({ Service: 'fail' })
  other.removeAllListeners('request').on('request', ({ url }, response) => {
    const isHealth = url === '/api/v1/health'
    const body = isHealth ? { version: '1', timestamp: '' } : { checks: { database: 'ok', disk: 'failed' } }
    response.writeHead(isHealth ? 200 : 503, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const hindered = { ...env, SERVICE_API_BASE, SERVICE_API_KEY: world.service.firstAdminKey! }
  const ran = await runInProcess(['doctor'], { env: hindered, now: world.now })
  expect(ran.stdout).toContain('no (503; failed: disk)')
  expect(ran.stdout).toContain('not checked: the service returned 503')
  const SERVICE_STORAGE_URL = await emptyFolder()
  const elsewhere = await runInProcess(['doctor'], { env: { ...hindered, SERVICE_STORAGE_URL }, now: world.now })
  expect(elsewhere.stdout).toContain(` free at ${SERVICE_STORAGE_URL}\n`)
  const SERVICE_DATA_DIR = await emptyFolder()
  expect(await states({ SERVICE_DATA_DIR })).not.toHaveProperty('Key file')
  await writeFile(join(SERVICE_DATA_DIR, 'audit.key'), 'short')
  expect(await states({ SERVICE_DATA_DIR })).toMatchObject({ 'Key file': 'fail' })
  // The service refuses to start with the same words.
  const refusal = await checkKeys(SERVICE_DATA_DIR).catch((error: Error) => error.message)
  const { stdout } = await runInProcess(['doctor'], { env: { ...env, SERVICE_DATA_DIR }, now: world.now })
  expect(stdout).toContain(refusal)
})

it('doctor says why the latest backup failed', async () => {
  const folder = await emptyFolder()
  await writeFile(join(folder, 'file'), '')
  const backupUrl = join(folder, 'file')
  const world = await startWorld({ config: { enrollment: 'token', backupUrl } })
  await world.advance(0)
  const env = { SERVICE_HOME: folder, SERVICE_API_BASE: world.baseUrl, SERVICE_API_KEY: world.service.firstAdminKey! }
  const { stdout } = await runInProcess(['doctor', '--json'], { env, now: world.now })
  const { checks } = JSON.parse(stdout) as { checks: { check: string }[] }
  expect(checks.find(({ check }) => check === 'Backup')).toEqual({
    check: 'Backup',
    state: 'warn',
    found: 'none',
    advice: expect.stringMatching(/^The latest attempt failed: .*\. Create one with: svc backup <folder>\. Scheduled/),
  })
})

it('completes commands, options, and names from the service, and prints nothing if there are none', async () => {
  const { env, svc } = await startFleet(2)
  await svc('groups', 'create', 'kitchen')
  const complete = async (line: string, more: Record<string, string> = {}) => {
    const ran = await runInProcess(['__complete', '--', ...line.split(' ')], { env: { ...env, ...more } })
    expect([ran.exitCode, ran.stderr]).toEqual([0, ''])
    return ran.stdout.split('\n').filter(Boolean)
  }
  expect(await complete('dep')).toEqual(['deploy', 'deployments'])
  expect(await complete('groups a')).toEqual(['add'])
  expect(await complete('rollouts list --st')).toEqual(['--status'])
  expect(await complete('models --so')).toEqual(['--source'])
  expect(await complete('rollouts list --status p')).toEqual(['pending', 'paused'])
  expect(await complete('groups add k')).toEqual(['kitchen'])
  expect(await complete('groups add kitchen d')).toEqual(['d0', 'd1'])
  await svc('federation', 'create', 'clinics', '--org', 'acme')
  expect(await complete('federation members c')).toEqual(['clinics'])
  expect(await complete('deploy m')).toEqual(['m'])
  expect(await complete('train start m --group k')).toEqual(['kitchen'])
  expect(await complete('groups show k', { SERVICE_API_BASE: 'http://127.0.0.1:1' })).toEqual([])
  expect(await complete('nothing at all ')).toEqual([])
})
