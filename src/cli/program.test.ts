import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { composeKey } from '../domain/api-key.ts'
import { commandLinesOf } from './command.ts'
import { COMMANDS } from './commands.ts'
import { runInProcess } from './in-process.fixture.ts'

const svc = async (argv: string, env: Record<string, string> = {}) =>
  runInProcess(argv.split(' ').filter(Boolean), { env: { SERVICE_HOME: await emptyFolder(), ...env } })

/** The commands of the API's contract, in its order. */
const INTERFACE_ORDER = (
  'run embed transcribe serve benchmark deploy login push pull convert eval quantize check list scan status ' +
  'dashboard init org demo launch models rollback pair team keys train federation integrations'
).split(' ')

it('lists the commands of the contract in order, followed by all others', async () => {
  const { exitCode, stdout, stderr } = await svc('--help')
  const listed = [...stdout.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name]) => name!)
  expect({ exitCode, stderr, listed }).toEqual({ exitCode: 0, stderr: '', listed: COMMANDS.map(({ name }) => name) })
  const known = listed.filter((name) => INTERFACE_ORDER.includes(name))
  expect(known).toEqual(INTERFACE_ORDER.filter((name) => known.includes(name)))
  expect(listed.slice(0, known.length)).toEqual(known)
})

it("the README's table of commands contains every command, and every subcommand of the groups that it spells out", async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const table = readme.split('## All commands')[1]!.split('\n## ')[0]!
  const lines = [...table.matchAll(/`([^`]+)`/g)].map(([, line]) => line!.split(' '))
  expect(COMMANDS.filter(({ name }) => !lines.some(([first]) => first === name)).map(({ name }) => name)).toEqual([])
  for (const entry of COMMANDS) {
    const listed = lines.find(([first, rest]) => first === entry.name && rest?.includes('\\|'))?.[1]?.split('\\|')
    if (listed === undefined || !('commands' in entry)) continue
    expect([entry.name, ...listed.toSorted()]).toEqual([entry.name, ...entry.commands.map(({ name }) => name).sort()])
  }
})

it('every listed command has its own help', async () => {
  for (const path of COMMANDS.flatMap(commandLinesOf).map((words) => words.join(' '))) {
    const { exitCode, stdout, stderr } = await svc(`${path} --help`)
    expect({ path, exitCode, stderr, usage: stdout.split('\n')[0]!.startsWith(`Usage: svc ${path}`) }).toEqual({
      path,
      exitCode: 0,
      stderr: '',
      usage: true,
    })
    expect(await svc(`help ${path}`)).toEqual({ exitCode, stdout, stderr })
  }
})

it('shows the arguments of a group that is also a command', async () => {
  expect((await svc('backup --help')).stdout).toMatch(/^Usage: svc backup \[command\] \[target\] \[options\]\n/)
  expect((await svc('keys --help')).stdout).toMatch(/^Usage: svc keys <command> \[options\]\n/)
})

it('prints the version of its package', async () => {
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } })
  expect(await svc('--version')).toEqual({ exitCode: 0, stdout: `${manifest.version}\n`, stderr: '' })
})

it.each([
  ['kyes', "svc: unknown command 'kyes'\n(Did you mean keys?)\nList commands with: svc --help\n"],
  ['kyes --help', "svc: unknown command 'kyes'\n(Did you mean keys?)\nList commands with: svc --help\n"],
  ['help nothing', "svc: unknown command 'nothing'\nList commands with: svc --help\n"],
  ['keys lst', "svc: unknown command 'lst'\n(Did you mean list?)\nUsage: svc keys --help\n"],
  ['models lst', "svc: unknown command 'lst'\n(Did you mean svc models?)\nUsage: svc models --help\n"],
  ['models alises m', "svc: unknown command 'alises'\n(Did you mean aliases?)\nUsage: svc models --help\n"],
  ['org nothing', "svc: unknown command 'nothing'\nUsage: svc org --help\n"],
  [
    'devices show -pixel',
    "svc: unknown option '-pixel'\nIf it is the <device>, put it last, after --: svc devices show -- <device>\nUsage: svc devices show --help\n",
  ],
  ['devices show pixel -x', "svc: unknown option '-x'\nUsage: svc devices show --help\n"],
  ['keys list --jsn', "svc: unknown option '--jsn'\n(Did you mean --json?)\nUsage: svc keys list --help\n"],
  ['push m.onnx', "svc: required option '-v, --version <version>' not specified\nUsage: svc push --help\n"],
  [
    'push m.onnx --verison 1.0.0',
    "svc: unknown option '--verison'\n(Did you mean --version?)\nUsage: svc push --help\n",
  ],
  ['keys -- lst', "svc: unknown command 'lst'\n(Did you mean list?)\nUsage: svc keys --help\n"],
  ['backup --json list --api-base x', 'svc: The command must come before its options: svc backup list.\n'],
  ['keys create', "svc: missing required argument 'name'\nUsage: svc keys create --help\n"],
  [
    'completion csh',
    "svc: 'csh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish.\nUsage: svc completion --help\n",
  ],
  [
    'init Acme --region mars',
    "svc: option '--region <region>' argument 'mars' is invalid. Allowed choices are us, eu, ap.\nUsage: svc init --help\n",
  ],
  [
    'keys create ci --expires 0d',
    "svc: option '--expires <days>' argument '0d' is invalid. It must be a number of days from 1d to 3650d, such as 30d.\nUsage: svc keys create --help\n",
  ],
  [
    'keys create ci --scope fly',
    "svc: option '--scope <scope>' argument 'fly' is invalid. Available scopes: devices:read, devices:write, models:read, models:write, training:read, training:write, metrics:read, admin.\nUsage: svc keys create --help\n",
  ],
  [
    'keys list --api-base nowhere',
    "svc: --api-base is not the address of a service: 'nowhere'.\nIt must look like http://127.0.0.1:8000.\n",
  ],
  [
    'deploy m --step 0x10',
    "svc: option '--step <percent>' argument '0x10' is invalid. It must be a whole number from 1 to 100.\nUsage: svc deploy --help\n",
  ],
  [
    'deploy m --interval 0x10',
    "svc: option '--interval <minutes>' argument '0x10' is invalid. It must be a number of minutes, more than 0 and at most a month.\nUsage: svc deploy --help\n",
  ],
  [
    'train start m --hyperparameter a=1 --hyperparameter a=2',
    "svc: option '--hyperparameter <key=value>' argument 'a=2' is invalid. The key 'a' is given twice.\nUsage: svc train start --help\n",
  ],
  [
    'train start m --option eta=[-1e999]',
    "svc: option '--option <key=value>' argument 'eta=[-1e999]' is invalid. A number is out of range. Text goes in quotes.\nUsage: svc train start --help\n",
  ],
  [
    'devices list --where n<1e999',
    "svc: option '--where <condition>' argument 'n<1e999' is invalid. A number is out of range.\nUsage: svc devices list --help\n",
  ],
  [
    'devices list --where !platfrom',
    "svc: option '--where <condition>' argument '!platfrom' is invalid. Did you mean platform? The capability is capabilities.platfrom.\nUsage: svc devices list --help\n",
  ],
  [
    `groups create g${' --where a=1'.repeat(17)}`,
    "svc: option '--where <condition>' argument 'a=1' is invalid. At most 16 conditions are accepted.\nUsage: svc groups create --help\n",
  ],
  [
    'convert m --input-shape 0x10,3',
    "svc: option '--input-shape <sizes>' argument '0x10,3' is invalid. It must be up to 8 whole numbers from 1, such as 1,3,224,224.\nUsage: svc convert --help\n",
  ],
  [
    'org set acme --require-approval yes',
    "svc: option '--require-approval <on>' argument 'yes' is invalid. Allowed choices are true, false.\nUsage: svc org set --help\n",
  ],
  [
    'serve starter --engine foo',
    "svc: option '-e, --engine <engine>' argument 'foo' is invalid. It must be auto, llama.cpp, onnxruntime, mlx-lm, mlc-llm, mnn, vllm, or the address of an OpenAI-compatible server.\nUsage: svc serve --help\n",
  ],
  [
    'train export job --format tensorboard',
    'svc: --output and --format tensorboard must be given together.\nFor example: svc train export my-job --format tensorboard --output runs\n',
  ],
])('%s is wrong usage: exits with 2 and says what is right', async (argv, stderr) => {
  expect(await svc(argv)).toEqual({ exitCode: 2, stdout: '', stderr })
})

it('every command refuses excess arguments', async () => {
  for (const path of COMMANDS.flatMap(commandLinesOf).map((words) => words.join(' '))) {
    const [usage] = (await svc(`${path} --help`)).stdout.split('\n')
    if (usage!.includes('...')) continue
    const { exitCode, stdout, stderr } = await svc(`${path}${' x'.repeat(8)}`)
    expect({ path, exitCode, stdout, stderr }).toEqual({
      path,
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(/^svc: (too many arguments for|required option|unknown command) /),
    })
  }
})

it.each(['', 'keys', 'train'])('svc %s asks for a command, with help on stderr', async (argv) => {
  const { exitCode, stdout, stderr } = await svc(argv)
  expect({ exitCode, stdout, head: stderr.split('\n')[0] }).toEqual({
    exitCode: 2,
    stdout: '',
    head: `Usage: ${`svc ${argv}`.trim()} <command> [options]`,
  })
})

it('does not repeat a key that was typed in the wrong place', async () => {
  const key = 'sk_live_0123456789abcdefghijklmnopqrstuv'
  for (const argv of [key, `keys ${key}`, `login --key=${key}`, `keys create ci --expires ${key}`]) {
    const { exitCode, stdout, stderr } = await svc(argv)
    expect({ exitCode, stdout, leaks: stderr.includes(key.slice(8, 14)) }).toEqual({
      exitCode: 2,
      stdout: '',
      leaks: false,
    })
  }
})

it('says how to sign in if a key is needed and missing', async () => {
  for (const argv of ['init Acme', 'keys list', 'keys create ci', 'keys revoke 1', 'train verify 1']) {
    expect(await svc(argv)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        'svc: This needs an API key for http://127.0.0.1:8000, and you are not signed in.\n' +
        'Sign in with: svc login. Or set SERVICE_API_KEY.\n',
    })
  }
})

const ADVICE =
  'Is the service running? Start it with: svc up. If it has another address, set --api-base or SERVICE_API_BASE.\n'

it('says that nothing is listening, and what to do', async () => {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((resolve) => server.close(resolve))
  expect(await svc(`keys list --api-base ${base}`, { SERVICE_API_KEY: 'k' })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: Cannot reach ${base} (connection refused).\n${ADVICE}`,
  })
})

const NO_KEYS = { keys: [], total: 0, limit: 100, offset: 0 }

it('reports a program that is not the service, a response cut off, and a redirect', async () => {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/moved')) response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    else if (request.url?.startsWith('/cut')) {
      response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy())
    } else if (request.url?.startsWith('/page')) {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Welcome</h1>')
    } else if (request.url?.startsWith('/text')) {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('OK')
    } else if (request.url?.startsWith('/broken')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{OK')
    } else if (request.url?.startsWith('/other')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}')
    } else if (request.url?.startsWith('/empty')) {
      response.writeHead(204).end()
    } else if (request.url?.startsWith('/list')) {
      response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': '1' }).end('[]')
    } else if (request.url?.startsWith('/scalar')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('"OK"')
    } else if (request.url?.startsWith('/gateway')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(NO_KEYS))
    } else response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not Found</h1>')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stderrOf = async (path: string) =>
    (await svc('keys list', { SERVICE_API_KEY: 'k', SERVICE_API_BASE: base + path })).stderr
  expect(await stderrOf('')).toBe(
    `svc: ${base}: The server returned 404 with a response that is not from this API. Is the address correct?\n`,
  )
  expect(await stderrOf('/moved')).toBe(`svc: Cannot reach ${base}/moved (unexpected redirect).\n${ADVICE}`)
  expect(await stderrOf('/page')).toBe(
    `svc: ${base}/page responded with web pages: it is not the service.\nSet the address of the service with --api-base or SERVICE_API_BASE.\n`,
  )
  for (const argv of ['keys list', 'groups create g', 'devices show x', 'login --no-browser']) {
    expect(await svc(argv, { SERVICE_API_KEY: 'k', SERVICE_API_BASE: `${base}/empty` })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        `svc: ${base}/empty sent an empty response without the header x-request-id, which the service sends.\n` +
        'Set the address of the service with --api-base or SERVICE_API_BASE. If a proxy removes the header, change its settings.\n',
    })
  }
  // The interface does not require the header x-request-id, and gateways may remove it.
  expect(await svc('keys list', { SERVICE_API_KEY: 'k', SERVICE_API_BASE: `${base}/gateway` })).toMatchObject({
    exitCode: 0,
    stderr: 'No keys. Create one with: svc keys create <name>\n',
  })
  for (const other of ['/text', '/broken', '/list', '/scalar', '/other']) {
    expect(await stderrOf(other)).toBe(
      `svc: ${base}${other} responded with data of another kind: it is not the service.\nSet the address of the service with --api-base or SERVICE_API_BASE.\n`,
    )
  }
  const key = composeKey((count) => new Uint8Array(count).fill(7))
  for (const argv of [`login --api-key ${key}`, 'login --no-browser', 'doctor']) {
    const { exitCode, stderr } = await svc(argv, { SERVICE_API_KEY: key, SERVICE_API_BASE: `${base}/other` })
    expect([argv, exitCode, stderr]).toEqual([argv, 1, expect.stringContaining('data of another kind: it is not the')])
  }
  expect(await stderrOf('/cut')).toBe(`svc: Cannot reach ${base}/cut (connection lost).\n${ADVICE}`)
})

it.each(['-- completion bash', 'completion -- bash', 'help -- completion', '-- keys -- list --help'])(
  '%s runs the command despite the --',
  async (argv) => {
    const plain = argv.replaceAll('-- ', '')
    const result = await svc(argv)
    expect(result).toEqual(await svc(plain))
    expect([result.exitCode, result.stdout]).toEqual([0, expect.stringMatching(/./)])
  },
)

it('--verbose is recognized after a -- that stands before a command', async () => {
  expect((await svc('-- completion bash --verbose')).exitCode).toBe(0)
})

it("shows the service's warning about a request that it accepted", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'x-service-warning': 'unknown field `x` was ignored',
    })
    response.end(JSON.stringify(NO_KEYS))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { exitCode, stderr } = await svc('keys list', { SERVICE_API_KEY: 'k', SERVICE_API_BASE: base })
  expect([exitCode, stderr]).toEqual([
    0,
    'Warning: unknown field `x` was ignored\nNo keys. Create one with: svc keys create <name>\n',
  ])
})

it('names a file that it cannot use, and why', async () => {
  const folder = await emptyFolder()
  await mkdir(join(folder, 'credentials.json'))
  await writeFile(join(folder, 'file'), '')
  const stderrOf = async (home: string) => (await svc('keys list', { SERVICE_HOME: home })).stderr
  expect(await stderrOf(folder)).toBe(`svc: Cannot use ${join(folder, 'credentials.json')}: it is a folder.\n`)
  expect(await stderrOf(join(folder, 'file'))).toBe(
    `svc: Cannot use ${join(folder, 'file', 'config.json')}: a part of its path is not a folder.\n`,
  )
})

it('an empty path is refused, not taken for the current folder', async () => {
  const cwd = await emptyFolder()
  for (const [argv, name] of [
    [['backup', ''], '<target>'],
    [['backup', 'list', ''], '<target>'],
    [['restore', ''], '<target>'],
    [['restore', 'backups', '--data-dir', ''], '--data-dir'],
    [['up', '--data-dir', ''], '--data-dir'],
    [['check', ''], '<model_path>'],
    [['convert', 'model.pt', '--output', ''], '--output'],
    [['pull', 'model', '-o', ''], '--output'],
  ] as const) {
    expect(await runInProcess(argv, { cwd, env: { SERVICE_HOME: await emptyFolder() } })).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `svc: ${name} is empty.\nGive a path, such as ./folder.\n`,
    })
  }
})

it.each([
  [['devices', 'show', ''], '<device>'],
  [['train', 'start', ''], '<model>'],
  [['models', 'promote', 'm', '', 'production'], '<version>'],
  [['deploy', 'm', '--group', ''], '--group'],
  [['rollback', 'm', '--to-version', ''], '--to-version'],
  [['experiments', 'assignment', 'e', '--device', ''], '--device'],
])('%j is refused before any request', async (argv, name) => {
  expect(await runInProcess(argv, { env: { SERVICE_HOME: await emptyFolder() } })).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: `svc: ${name} is empty.\nIf it is a variable of the shell, check that it is set.\n`,
  })
})
