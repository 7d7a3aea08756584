import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { type Ran, runInProcess } from '../../src/cli/in-process.fixture.ts'
import { emptyFolder } from '../databases.ts'
import { startWorld, type World } from '../world.ts'
import { hasBrowser, openTab, type Tab } from './browser.ts'

interface Login extends Tab {
  readonly home: string
  /** The address that svc opened in the browser. */
  readonly address: URL
  readonly ran: Promise<Ran>
}

/** Starts `svc login` with a new browser tab. */
const startLogin = async (world: World): Promise<Login> => {
  const tab = await openTab()
  const home = join(await emptyFolder(), 'svc')
  let open = (_address: string): void => undefined
  const opened = new Promise<string>((resolve) => {
    open = resolve
  })
  const ran = runInProcess(['login'], {
    env: { SERVICE_HOME: home, SERVICE_API_BASE: world.baseUrl },
    openBrowser: open,
  })
  return { ...tab, home, ran, address: new URL(await opened) }
}

const approve = ({ page }: Tab) => page.getByRole('button', { name: 'Approve' })
const keyField = ({ page }: Tab) => page.getByLabel('Your API key')
const problem = ({ page }: Tab) => page.getByRole('alert')
const heading = ({ page }: Tab) => page.getByRole('heading')

const keptBy = async ({ home }: Login): Promise<unknown> => {
  const path = join(home, 'credentials.json')
  const mode = await stat(path).then(
    (found) => (found.mode & 0o777).toString(8),
    () => null,
  )
  return mode === null ? null : { mode, ...JSON.parse(await readFile(path, 'utf8')) }
}

const keyOf = async (world: World, fields: object): Promise<string> => {
  const { body } = await world.request('POST', '/api/v1/keys', { key: world.service.firstAdminKey!, body: fields })
  return (body as { api_key: string }).api_key
}

describe.skipIf(!hasBrowser())('svc login in a browser', () => {
  it('under open enrollment, one click signs in the command line', async () => {
    const world = await startWorld()
    const login = await startLogin(world)
    await login.page.goto(login.address.href)
    await expect.poll(() => heading(login).textContent()).toBe('Sign in the command line?')
    expect(await keyField(login).count()).toBe(0)
    await approve(login).click()
    await heading(login).getByText('Signed in', { exact: true }).waitFor()
    expect(await login.page.locator('p').textContent()).toBe('The command line is signed in. You can close this page.')

    expect(await login.ran).toMatchObject({ exitCode: 0, stdout: `Signed in to ${world.baseUrl}.\n` })
    const kept = (await keptBy(login)) as { api_key: string }
    expect(kept).toEqual({ mode: '600', api_key: kept.api_key, org_id: null, api_base: world.baseUrl })
    expect((await world.request('GET', '/api/v1/keys', { key: kept.api_key })).status).toBe(200)
    // Only the command line got the key; the browser's address contains a used code.
    expect(await login.page.content()).not.toContain('sk_live_')
    expect(login.page.url()).not.toContain('sk_live_')
    expect(login.problems).toEqual([])
  })

  it('a double click signs in like a single click', async () => {
    const login = await startLogin(await startWorld())
    await login.page.goto(login.address.href)
    await approve(login).dblclick()
    expect(await login.ran).toMatchObject({ exitCode: 0 })
    await heading(login).getByText('Signed in', { exact: true }).waitFor()
  })

  it('under token enrollment, a pasted key approves the login, and the command line gets a key for its organization', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const login = await startLogin(world)
    const key = await keyOf(world, { name: 'mine', org_id: 'acme', scopes: ['models:read'] })
    await login.page.goto(login.address.href)
    expect(await keyField(login).getAttribute('type')).toBe('password')
    await keyField(login).fill(`  ${key}\n`)
    await keyField(login).press('Enter')
    await heading(login).getByText('Signed in', { exact: true }).waitFor()
    expect(await login.ran).toMatchObject({
      exitCode: 0,
      stdout: `Signed in to ${world.baseUrl} for the organization acme.\n`,
    })
    const kept = (await keptBy(login)) as { api_key: string }
    expect(kept).toEqual({ mode: '600', api_key: kept.api_key, org_id: 'acme', api_base: world.baseUrl })
    expect(kept.api_key).not.toBe(key)
    expect((await world.request('GET', '/api/v1/models', { key: kept.api_key })).status).toBe(200)
    expect((await world.request('POST', '/api/v1/models', { key: kept.api_key, body: {} })).status).toBe(403)
    expect(login.problems).toEqual([])
  })

  it('the page explains what is wrong with a key, and then accepts the right one', async () => {
    const world = await startWorld({ config: { enrollment: 'token' } })
    const login = await startLogin(world)
    await login.page.goto(login.address.href)
    const requested: string[] = []
    login.page.on('request', (request) => requested.push(`${request.method()} ${new URL(request.url()).pathname}`))
    const complaint = () => keyField(login).evaluate((field: HTMLInputElement) => field.validationMessage)
    await approve(login).click()
    expect(await complaint()).toBe('Please fill out this field.')
    await keyField(login).fill('sk_live_ab…yz')
    await approve(login).click()
    expect(await complaint()).toBe('Please match the requested format.')
    expect(requested).toEqual([])

    await keyField(login).fill(`sk_live_${'x'.repeat(32)}`)
    await approve(login).click()
    await problem(login).getByText('This API key is not valid').waitFor()
    expect(requested).toEqual(['POST /api/v1/login/authorize'])
    expect(await keptBy(login)).toBeNull()

    await keyField(login).fill(world.service.firstAdminKey!)
    await approve(login).click()
    expect(await login.ran).toMatchObject({ exitCode: 0 })
    expect(await keptBy(login)).toMatchObject({ mode: '600', org_id: null })
  })

  it('the page reports an unreachable service, and works again afterwards', async () => {
    const world = await startWorld()
    const login = await startLogin(world)
    await login.page.goto(login.address.href)
    await login.context.setOffline(true)
    await approve(login).click()
    await problem(login).getByText('The service does not respond.').waitFor()
    await login.context.setOffline(false)
    await approve(login).click()
    expect(await login.ran).toMatchObject({ exitCode: 0 })
  })

  it('approving the page of another login does not sign in', async () => {
    const world = await startWorld()
    const login = await startLogin(world)
    const forged = new URL(login.address)
    forged.searchParams.set('state', 'x'.repeat(43))
    await login.page.goto(forged.href)
    await approve(login).click()
    await heading(login).getByText('Not signed in', { exact: true }).waitFor()
    expect(await login.ran).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('svc: The browser returned the state of another sign-in. Nothing was stored.\n'),
    })
    expect(await keptBy(login)).toBeNull()
  })

  it("approving a page with another verifier's challenge does not sign in", async () => {
    const world = await startWorld()
    const login = await startLogin(world)
    const forged = new URL(login.address)
    forged.searchParams.set('code_challenge', 'x'.repeat(43))
    await login.page.goto(forged.href)
    await approve(login).click()
    await heading(login).getByText('Not signed in', { exact: true }).waitFor()
    expect(await login.ran).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('svc: This sign-in code is unknown, used, or expired.'),
    })
    expect(await keptBy(login)).toBeNull()
  })

  it.each(['https://example.org/callback', 'javascript:alert(1)'])(
    'a page that would send the code to %s refuses and goes nowhere',
    async (redirect_uri) => {
      const world = await startWorld()
      const tab = await openTab()
      const address = new URL(`${world.baseUrl}/login`)
      const query = { redirect_uri, code_challenge: 'x'.repeat(43), state: 'x'.repeat(43) }
      address.search = new URLSearchParams(query).toString()
      await tab.page.goto(address.href)
      await approve(tab).click()
      await problem(tab).getByText('redirect_uri must be an http address on this machine').waitFor()
      expect(tab.page.url()).toBe(address.href)
    },
  )

  it('a login denied in the browser ends without a key', async () => {
    const world = await startWorld()
    const login = await startLogin(world)
    // Where a dashboard with a "no" button would redirect (RFC 6749, section 4.1.2.1).
    const denied = new URL(login.address.searchParams.get('redirect_uri')!)
    denied.searchParams.set('error', 'access_denied')
    denied.searchParams.set('state', login.address.searchParams.get('state')!)
    await login.page.goto(denied.href)
    expect(await heading(login).textContent()).toBe('Not signed in')
    expect(await login.ran).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('svc: The sign-in was not approved in the browser.\n'),
    })
    expect(await keptBy(login)).toBeNull()
  })

  it('no other page can frame the login page to steal a click', async () => {
    const world = await startWorld()
    const tab = await openTab()
    await tab.page.goto(`${world.baseUrl}/api/v1/health`)
    await tab.page.setContent(`<iframe src="${world.baseUrl}/login"></iframe>`)
    await expect.poll(() => tab.problems).toContainEqual(expect.stringContaining('frame-ancestors'))
  })
})

it('svc login --api-key reads the key from a pipe, and says what to do without an input', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const home = join(await emptyFolder(), 'svc')
  const env = { SERVICE_HOME: home, SERVICE_API_BASE: world.baseUrl }
  expect(await runInProcess(['login', '--api-key'], { env })).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'svc: There is no terminal on which svc could ask for the key.\nPass the key as the value of the option.\n',
  })
  const key = await keyOf(world, { name: 'mine', org_id: 'acme', scopes: ['admin'] })
  const stdin = new PassThrough()
  const ran = runInProcess(['login', '--api-key'], { env, stdin })
  stdin.end(`${key}\r\nanother line\n`)
  expect(await ran).toEqual({
    exitCode: 0,
    stdout: `Signed in to ${world.baseUrl} for the organization acme.\n`,
    stderr: `The key is in ${join(home, 'credentials.json')}.\n`,
  })
  const path = join(home, 'credentials.json')
  expect([(await stat(path)).mode & 0o777, JSON.parse(await readFile(path, 'utf8'))]).toEqual([
    0o600,
    { api_key: key, org_id: 'acme', api_base: world.baseUrl },
  ])
})
