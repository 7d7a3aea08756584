import type { Request } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { runInProcess } from '../../src/cli/in-process.fixture.ts'
import { emptyFolder } from '../databases.ts'
import { startWorld, type World } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, openDashboard } from './dashboard-tab.ts'

let world: World

/** Creates a key of acme. */
const createKey = async () => {
  const { body } = await world.request('POST', '/api/v1/keys', {
    key: world.service.firstAdminKey!,
    body: { name: 'mine', org_id: 'acme', scopes: ['devices:read', 'models:read', 'training:read'] },
  })
  return (body as { api_key: string }).api_key
}

/** Returns the address that `svc dashboard` opens in the browser. */
const linkOf = async (key: string) => {
  const { baseUrl } = world
  const opened: string[] = []
  const ran = await runInProcess(['dashboard'], {
    env: { SERVICE_HOME: await emptyFolder(), SERVICE_API_BASE: baseUrl, SERVICE_API_KEY: key },
    openBrowser: (address) => opened.push(address),
  })
  expect(ran).toEqual({ exitCode: 0, stdout: `${baseUrl}/\n`, stderr: '' })
  return opened[0]!
}

describe.skipIf(!hasBrowser())('signing in', () => {
  beforeAll(async () => {
    world = await startWorld({ webFolder: await buildDashboard(), config: { enrollment: 'token' } })
  })

  it('svc dashboard opens a link that signs in after one click and works once', async () => {
    const link = await linkOf(await createKey())
    const { page, context, wrong } = await openDashboard(
      link.slice(0, link.indexOf('/#')),
      link.slice(link.indexOf('/#')),
    )
    await page.getByRole('heading', { name: 'Sign in this browser?' }).waitFor()
    expect(page.url()).toBe(`${world.baseUrl}/`)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('mine · acme').waitFor()
    await page.getByText('Nothing is running').waitFor()
    expect(wrong()).toEqual([])
    await page.goto('about:blank')
    await context.clearCookies()
    await page.goto(link)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This link is unknown, used, or expired.').waitFor()
    await page.getByRole('button', { name: 'Not now' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
  })

  it('a link works in a tab that already shows the dashboard, and an ended session asks to sign in immediately', async () => {
    const key = await createKey()
    const { page, visit } = await openDashboard(world.baseUrl, '/devices')
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    for (const _ of ['signed out', 'signed in']) {
      const { hash } = new URL(await linkOf(key))
      await page.evaluate((way) => {
        window.location.hash = way
      }, hash)
      await page.getByRole('heading', { name: 'Sign in this browser?' }).waitFor()
      expect(page.url()).toBe(`${world.baseUrl}/devices`)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('mine · acme').waitFor()
    }
    const { body } = await world.request('GET', '/api/v1/keys/self', { key })
    const { id } = body as { id: string }
    await world.request('DELETE', `/api/v1/keys/${id}`, { key: world.service.firstAdminKey! })
    await visit('/models')
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor({ timeout: 5000 })
  })

  it('requests nothing that the key may not see', async () => {
    const { page, context, wrong } = await openDashboard('about:blank', '')
    for (const [scope, shown, refused] of [
      ['models:read', 'Nothing needs attention', /v1\/(training|federations|fleet|status)/],
      ['training:read', 'Nothing is running', /v1\/(models|rollouts|experiments|fleet|status)/],
      ['devices:read', 'Active in the last 5 min', /v1\/(models|rollouts|experiments|training|federations)/],
    ] as const) {
      const body = { name: 'one', org_id: 'acme', scopes: [scope] }
      const made = await world.request('POST', '/api/v1/keys', { key: world.service.firstAdminKey!, body })
      await page.goto('about:blank')
      await context.clearCookies()
      await page.goto(await linkOf((made.body as { api_key: string }).api_key))
      const requested: string[] = []
      const note = (request: Request) => void requested.push(request.url())
      page.on('request', note)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText(shown).waitFor()
      page.off('request', note)
      expect({ refused: requested.filter((url) => refused.test(url)), wrong: wrong() }).toEqual({
        refused: [],
        wrong: [],
      })
    }
  })

  it('a signed-in browser approves svc login with one click', async () => {
    const { page, wrong } = await openDashboard(await linkOf(await createKey()), '')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('mine · acme').waitFor()
    let ran: ReturnType<typeof runInProcess> | null = null
    const address = await new Promise<string>((openBrowser) => {
      void emptyFolder().then((home) => {
        ran = runInProcess(['login'], { env: { SERVICE_HOME: home, SERVICE_API_BASE: world.baseUrl }, openBrowser })
      })
    })
    await page.goto(address)
    await page.getByText('You are signed in with the key "mine" of acme.').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Signed in', exact: true }).waitFor()
    expect(await ran!).toMatchObject({
      exitCode: 0,
      stdout: `Signed in to ${world.baseUrl} for the organization acme.\n`,
    })
    expect(wrong()).toEqual([])
  })
})
