import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { organizations } from '../../../test/organizations.ts'
import type { World } from '../../../test/world.ts'
import { composeKey } from '../../domain/api-key.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { Interrupted } from '../io.ts'

const openService = organizations()
const guardedService = organizations({ config: { enrollment: 'token' } })

const credentialsIn = async (home: string) => JSON.parse(await readFile(join(home, 'credentials.json'), 'utf8'))
const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Starts a login and returns the page that it opens in the browser. */
const startLogin = async (
  world: World,
  options: { home: string; env?: Record<string, string>; signal?: AbortSignal },
) => {
  let open = (_address: string): void => undefined
  const opened = new Promise<string>((resolve) => {
    open = resolve
  })
  const ran = runInProcess(['login'], {
    env: { SERVICE_HOME: options.home, SERVICE_API_BASE: world.baseUrl, ...options.env },
    openBrowser: open,
    ...(options.signal && { signal: options.signal }),
  })
  return { ran, page: new URL(await opened) }
}

/** Approves the login as the page's script does, and returns the address that the browser is sent to. */
const approve = async (world: World, page: URL, key?: string): Promise<URL> => {
  const response = await world.request('POST', '/api/v1/login/authorize', {
    key,
    body: Object.fromEntries(page.searchParams),
  })
  expect(response.status).toBe(200)
  return new URL((response.body as { redirect_to: string }).redirect_to)
}

it('signs in through the browser and stores a working key', async () => {
  const world = openService()
  const home = join(await emptyFolder(), 'svc')
  const { ran, page } = await startLogin(world, { home })
  expect({ origin: page.origin, path: page.pathname, names: [...page.searchParams.keys()] }).toEqual({
    origin: world.baseUrl,
    path: '/login',
    names: ['code_challenge', 'redirect_uri', 'state'],
  })
  expect((await fetch(page)).status).toBe(200)

  const shown = await fetch(await approve(world, page))
  expect({ status: shown.status, signedIn: (await shown.text()).includes('<h1>Signed in</h1>') }).toEqual({
    status: 200,
    signedIn: true,
  })
  expect(
    Object.fromEntries(['cache-control', 'referrer-policy'].map((name) => [name, shown.headers.get(name)])),
  ).toEqual({
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  })
  const path = join(home, 'credentials.json')
  const { exitCode, stdout, stderr } = await ran
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `Signed in to ${world.baseUrl}.\n` })
  expect(stderr).toBe(
    `Approve the sign-in in your browser. If no browser opens, go to:\n\n  ${page.href}\n\nThe key is in ${path}.\n`,
  )

  const kept = await credentialsIn(home)
  expect(kept).toEqual({ api_key: kept.api_key, org_id: null, api_base: world.baseUrl })
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await world.request('GET', '/api/v1/keys', { key: kept.api_key })).status).toBe(200)
  await expect(fetch(page.searchParams.get('redirect_uri')!)).rejects.toThrow('fetch failed')
})

it('stores the organization of the person who approved', async () => {
  const world = guardedService()
  const home = await emptyFolder()
  const admin = world.service.firstAdminKey!
  const { body } = await world.request('POST', '/api/v1/keys', { key: admin, body: { name: 'a', org_id: 'acme' } })
  const { ran, page } = await startLogin(world, { home })
  await fetch(await approve(world, page, (body as { api_key: string }).api_key))
  expect(await ran).toMatchObject({ exitCode: 0, stdout: `Signed in to ${world.baseUrl} for the organization acme.\n` })
  expect(await credentialsIn(home)).toMatchObject({ org_id: 'acme' })
})

it('refuses the state of another login and stores nothing', async () => {
  const world = openService()
  const home = await emptyFolder()
  const { ran, page } = await startLogin(world, { home })
  const target = await approve(world, page)
  target.searchParams.set('state', 'x'.repeat(43))
  const shown = await fetch(target)
  expect({ status: shown.status, refused: (await shown.text()).includes('<h1>Not signed in</h1>') }).toEqual({
    status: 400,
    refused: true,
  })
  const { exitCode, stdout, stderr } = await ran
  expect({ exitCode, stdout, last: stderr.split('\n\n').at(-1) }).toEqual({
    exitCode: 1,
    stdout: '',
    last:
      'svc: The browser returned the state of another sign-in. Nothing was stored.\n' +
      'Unless you opened an old tab, someone else may have sent it. Start again with: svc login\n',
  })
  expect(await exists(join(home, 'credentials.json'))).toBe(false)
})

it('serves only its callback, and fails if the code is invalid or missing', async () => {
  const world = openService()
  const home = await emptyFolder()
  const first = await startLogin(world, { home })
  const callback = new URL(first.page.searchParams.get('redirect_uri')!)
  callback.searchParams.set('state', first.page.searchParams.get('state')!)
  expect((await fetch(new URL('/favicon.ico', callback))).status).toBe(404)
  expect((await fetch(callback, { method: 'POST' })).status).toBe(404)
  expect((await fetch(callback)).status).toBe(400)
  expect(await first.ran).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('svc: The sign-in was not approved in the browser.\n'),
  })

  const second = await startLogin(world, { home })
  const forged = new URL(second.page.searchParams.get('redirect_uri')!)
  forged.search = new URLSearchParams({ state: second.page.searchParams.get('state')!, code: 'invented' }).toString()
  expect((await fetch(forged)).status).toBe(502)
  expect(await second.ran).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('svc: This sign-in code is unknown, used, or expired.'),
  })
  expect(await exists(join(home, 'credentials.json'))).toBe(false)
})

it("opens the dashboard's login page if there is one", async () => {
  const world = openService()
  const stop = new AbortController()
  const env = { SERVICE_DASHBOARD_URL: 'https://dashboard.example.org/' }
  const { ran, page } = await startLogin(world, { home: await emptyFolder(), env, signal: stop.signal })
  expect(page.origin + page.pathname).toBe('https://dashboard.example.org/login')
  stop.abort(new Interrupted('SIGINT'))
  expect(await ran).toMatchObject({ exitCode: 130, stdout: '' })
})

it('as a program, exits with 130 on Ctrl-C', async () => {
  const world = openService()
  const child = spawn(process.execPath, [await builtFile('cli/main.js'), 'login'], {
    env: { PATH: process.env.PATH, SERVICE_HOME: await emptyFolder(), SERVICE_API_BASE: world.baseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  for await (const text of child.stderr.setEncoding('utf8')) {
    stderr += text
    // Sends it once: a second SIGINT exits without a message.
    if (!child.killed && /\/login\?\S+\n\n/.test(stderr)) child.kill('SIGINT')
  }
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(130)
  expect(stderr).toMatch(
    /^Approve the sign-in in your browser. If no browser opens, go to:\n\n {2}http:\S+\n\n(No browser on this machine\? Press Ctrl-C, and run: svc login --no-browser\n\n)?$/,
  )
})

it('signs in with any key that the service knows, and gets its organization', async () => {
  const world = guardedService()
  const admin = world.service.firstAdminKey!
  const make = async (fields: object): Promise<string> =>
    (
      (await world.request('POST', '/api/v1/keys', { key: admin, body: { name: 'a', ...fields } })).body as {
        api_key: string
      }
    ).api_key
  const home = await emptyFolder()
  const env = { SERVICE_HOME: home, SERVICE_API_BASE: world.baseUrl }

  const bound = await make({ org_id: 'acme', scopes: ['admin'] })
  expect(await runInProcess(['login', '--api-key', bound], { env })).toEqual({
    exitCode: 0,
    stdout: `Signed in to ${world.baseUrl} for the organization acme.\n`,
    stderr: `The key is in ${join(home, 'credentials.json')}.\n`,
  })
  expect(await credentialsIn(home)).toEqual({ api_key: bound, org_id: 'acme', api_base: world.baseUrl })

  const narrow = await make({ org_id: 'umbrella', scopes: ['models:read'] })
  const stdin = new PassThrough()
  stdin.end(`${narrow}\n`)
  expect(await runInProcess(['login', '--api-key'], { env, stdin })).toMatchObject({ exitCode: 0 })
  expect(await credentialsIn(home)).toEqual({ api_key: narrow, org_id: 'umbrella', api_base: world.baseUrl })

  const unbound = await make({ scopes: ['models:read'] })
  expect(await runInProcess(['login', '--api-key', unbound], { env })).toMatchObject({ exitCode: 0 })
  expect(await credentialsIn(home)).toEqual({ api_key: unbound, org_id: null, api_base: world.baseUrl })
})

it.each([
  ['the end of a terminal (Ctrl-D)', true, '\x04'],
  ['an empty line at a terminal', true, '\r'],
  ['an empty pipe', false, ''],
] as const)('says that no key was given at %s', async (_, isTTY, input) => {
  const stdin = Object.assign(new PassThrough(), { isTTY, setRawMode: () => stdin })
  if (isTTY) stdin.write(input)
  else stdin.end(input)
  expect(await runInProcess(['login', '--api-key'], { env: { SERVICE_HOME: await emptyFolder() }, stdin })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'svc: No API key was given.\nEnter it when svc asks, or write it to stdin.\n',
  })
})

it('Ctrl-C at the key prompt interrupts', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin })
  stdin.write('\x03')
  const env = { SERVICE_HOME: await emptyFolder() }
  expect((await runInProcess(['login', '--api-key'], { env, stdin })).exitCode).toBe(130)
})

it('refuses a mistyped key without a request, and a key that the service does not know', async () => {
  const world = openService()
  const home = await emptyFolder()
  const key = composeKey((count) => new Uint8Array(count).fill(7))
  const login = (given: string, apiBase: string) =>
    runInProcess(['login', '--api-key', given], { env: { SERVICE_HOME: home, SERVICE_API_BASE: apiBase } })
  // Nothing listens there: a request would fail with a different error.
  const silent = 'http://127.0.0.1:9'
  const advice = 'Copy the whole key: sk_live_ and 32 letters or digits.\n'
  expect([
    await login(key.replace(/.$/, '_'), silent),
    await login(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`, silent),
    await login('my-key', silent),
    await login(key, world.baseUrl),
  ]).toEqual([
    { exitCode: 1, stdout: '', stderr: `svc: Not an API key: its checksum is wrong.\n${advice}` },
    { exitCode: 1, stdout: '', stderr: `svc: Not an API key: its checksum is wrong.\n${advice}` },
    { exitCode: 1, stdout: '', stderr: `svc: Not an API key: it does not start with sk_live_.\n${advice}` },
    {
      exitCode: 1,
      stdout: '',
      stderr:
        'svc: This API key is not valid: it is unknown, expired, or revoked. Check it, or create a new key.\n' +
        `Ask the operator of ${world.baseUrl} for a key, or sign in with: svc login\n`,
    },
  ])
  expect(await exists(join(home, 'credentials.json'))).toBe(false)
})

it('without a browser shows a code and its address, and waits for approval', async () => {
  const world = guardedService()
  const admin = world.service.firstAdminKey!
  const home = await emptyFolder()
  const child = spawn(process.execPath, [await builtFile('cli/main.js'), 'login', '--no-browser'], {
    env: { PATH: process.env.PATH, SERVICE_HOME: home, SERVICE_API_BASE: world.baseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  let decided = false
  for await (const text of child.stderr.setEncoding('utf8')) {
    stderr += text
    const user_code = /^ {2}(\w{4}-\w{4})$/m.exec(stderr)?.[1]
    if (decided || user_code === undefined) continue
    decided = true
    const body = { user_code, approve: true }
    expect((await world.request('POST', '/api/v1/login/device/decision', { key: admin, body })).status).toBe(200)
  }
  expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0)
  expect(stderr).toContain(`Open ${world.baseUrl}/login/device in any browser, and enter the code:`)
  expect(stderr).toMatch(/[▀▄█]{4}/)
  const { api_key } = await credentialsIn(home)
  expect(await world.request('GET', '/api/v1/keys/self', { key: api_key })).toMatchObject({ status: 200 })
  expect(stderr).not.toContain(api_key)
})

it('without a browser, explains that a lost response may have contained the key', async () => {
  const world = guardedService()
  const admin = world.service.firstAdminKey!
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { status, body } = await world.request(request.method!, request.url!, {
      body: JSON.parse(Buffer.concat(chunks).toString()),
    })
    // Only the key is lost: the service has created it.
    if (status === 200 && request.url!.endsWith('/token')) response.destroy()
    else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const SERVICE_API_BASE = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const approveCode = (text: string): void => {
    const user_code = /^ {2}(\w{4}-\w{4})$/m.exec(text)?.[1]
    const body = { user_code, approve: true }
    if (user_code !== undefined) void world.request('POST', '/api/v1/login/device/decision', { key: admin, body })
  }
  const { exitCode, stderr } = await runInProcess(['login', '--no-browser'], {
    env: { SERVICE_HOME: await emptyFolder(), SERVICE_API_BASE },
    onOutput: approveCode,
  })
  expect([exitCode, stderr.split('\n').slice(-4)]).toEqual([
    1,
    [
      `Cannot reach ${SERVICE_API_BASE} (connection lost). Trying again.`,
      'svc: The sign-in may have been approved, but the response with its key was lost.',
      `If svc keys list shows an unused key 'svc on ${hostname()}', revoke it. Start again with: svc login --no-browser`,
      '',
    ],
  ])
})
