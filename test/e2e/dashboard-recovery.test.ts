import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { PASSWORD, startPeople } from '../../src/control/access/sign-in/people.fixture.ts'
import { createModel } from '../fleet-of-models.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { openDashboard } from './dashboard-tab.ts'
import { addDevices } from './device-rows.ts'

let webFolder = ''

const signIn = async (page: Page, email: string): Promise<void> => {
  await page.getByRole('button', { name: 'Use email and password' }).click()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

const focus = (page: Page): Promise<unknown> => page.evaluate(() => window.dispatchEvent(new Event('focus')))

const fail = (route: Route): Promise<void> => route.abort()

describe.skipIf(!hasBrowser())('a page of the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('390, 900, or 1440 pixels wide shows every row of a long table, and the same rows after going back', async () => {
    const world = await startWorld({ webFolder })
    await addDevices(world, 250)
    const { page } = await openDashboard('about:blank', '')
    for (const width of [390, 900, 1440]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${world.baseUrl}/devices`)
      await page.getByRole('link', { name: 'n000' }).waitFor()
      const last = page.getByRole('link', { name: 'n249' })
      const isAtEnd = async () => {
        await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight))
        return last.isVisible()
      }
      await expect.poll(isAtEnd, { interval: 100 }).toBe(true)
      // Rows outside the viewport take up height too.
      const height = await page.evaluate(() => document.documentElement.scrollHeight)
      expect(height, `${width} pixels`).toBeGreaterThan(36 * 220)
      await page.evaluate((place) => window.scrollTo(0, place), Math.round(height / 2))
      const visible = () =>
        page.evaluate(() =>
          [...document.querySelectorAll('td a')]
            .filter((link) => link.getBoundingClientRect().top > 100 && link.getBoundingClientRect().bottom < 700)
            .map(({ textContent }) => textContent),
        )
      await expect.poll(async () => (await visible()).length).toBeGreaterThan(2)
      // Rows measured after the jump move the page for some frames.
      let before: unknown
      const isStill = async (): Promise<boolean> => {
        const now = await page.evaluate(() => [window.scrollY, document.documentElement.scrollHeight].join())
        const same = now === before
        before = now
        return same
      }
      await expect.poll(isStill, { interval: 300 }).toBe(true)
      const [, target] = await visible()
      await page.evaluate(() => {
        const keep = (): void => void Object.assign(window, { place: window.scrollY })
        window.addEventListener('click', keep, { capture: true, once: true })
      })
      await page.getByRole('link', { name: target! }).click()
      await page.getByRole('heading', { name: target!, level: 1 }).waitFor()
      await page.goBack()
      await expect.poll(() => page.evaluate(() => window.scrollY - Reflect.get(window, 'place'))).toBe(0)
      await expect.poll(visible).toContain(target)
    }
  })

  it('an invitation survives a network failure and a reload, and shows who is signed in', async () => {
    const { world, byKey, join } = await startPeople({ webFolder })
    await join('ada@acme.example')
    const body = { email: 'bob@beta.example', role: 'admin', org_id: 'beta' }
    const { link } = (await byKey('POST', '/team', body)).body as { link: string }
    const { page, context } = await openDashboard(world.baseUrl)
    await signIn(page, 'ada@acme.example')
    await page.getByText('ada@acme.example · acme').waitFor()
    await context.route('**/api/v1/invitations/read', fail)
    const invited = await context.newPage()
    await invited.goto(link.slice(0, -1))
    await invited.getByRole('heading', { name: 'This link is incomplete' }).waitFor()
    await invited.goto(link)
    await invited.getByText('The service does not respond.').waitFor()
    await context.unroute('**/api/v1/invitations/read')
    await invited.getByRole('button', { name: 'Try again' }).click()
    await invited.getByRole('heading', { name: 'Join beta' }).waitFor()
    await invited.reload()
    await invited.getByText('You are signed in as ada@acme.example.').waitFor()
    // Neither another address nor a tab opened from this one shows the invitation.
    const opening = context.waitForEvent('page')
    await invited.evaluate(() => void window.open('/'))
    const opened = await opening
    await opened.getByText('ada@acme.example · acme').waitFor()
    await opened.close()
    await invited.goto(`${world.baseUrl}/devices`)
    await invited.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    await invited.goBack()
    await invited.getByLabel('Password').fill(PASSWORD)
    await invited.getByRole('button', { name: 'Join' }).click()
    await invited.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    expect(await invited.getByLabel('Email').inputValue()).toBe('bob@beta.example')
    // The other tab no longer shows anything of the session that this ended.
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await invited.reload()
    await invited.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
  })

  it('with an open dialog says so if its record is gone, sends only changed fields, and does not overwrite changes of others', async () => {
    const world = await startWorld({ webFolder })
    const { key } = await world.register('d0')
    const call = (method: string, path: string, body?: object) => world.request(method, `/api/v1${path}`, { key, body })
    const { body } = await call('POST', '/team', { email: 'ada@example.org', role: 'viewer' })
    await createModel(world, key, 'm', ['1.0.0'])
    const { page, visit } = await openDashboard(world.baseUrl, '/organization')
    await page.getByRole('button', { name: 'Set role of ada@example.org' }).click()
    const dialog = page.getByRole('dialog')
    await page.getByRole('dialog', { name: 'Set the role of ada@example.org' }).waitFor()
    await dialog.getByLabel('Role').selectOption('member')
    await call('DELETE', `/team/${(body as { id: string }).id}`)
    // Data fetched within the last few seconds is not fetched again.
    await expect
      .poll(async () => {
        await focus(page)
        return dialog.getByText('This is no longer on the page').count()
      })
      .toBe(1)
    expect(await dialog.getByLabel('Role').inputValue()).toBe('member')
    await dialog.getByRole('button', { name: 'Set role' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Nobody is on this team yet').waitFor()
    await page.getByRole('button', { name: 'Invite' }).click()
    await dialog.waitFor()
    await visit('/organization/keys')
    await page.getByRole('button', { name: 'Create service key' }).click()
    await dialog.waitFor()
    await visit('/organization')
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Change sign-in policy' }).click()
    await call('PATCH', '/team/policy', { session_hours: 9 })
    await focus(page)
    await dialog.getByLabel('Must have a second factor').selectOption('all')
    await dialog.getByRole('button', { name: 'Change' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await call('GET', '/team/policy')).body).toMatchObject({ session_hours: 9, require_mfa: 'all' })

    await call('PUT', '/models/m/policy', { enabled: true, canary_percentage: 10 })
    await page.route('**/api/v1/models/m/policy', () => new Promise(() => undefined))
    await visit('/delivery/policies/m')
    const early = page.getByRole('button', { name: 'Set a policy' })
    expect(await early.isDisabled()).toBe(true)
    await page.unroute('**/api/v1/models/m/policy')
    // As from a process of the version before, during a rolling upgrade.
    await page.route('**/api/v1/models/m/policy', async (route) => {
      const response = await route.fetch()
      const { warnings, ...json } = await response.json()
      await route.fulfill({ response, json })
    })
    await page.reload()
    await page.getByText('enabled', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await dialog.getByLabel('Canary, % of devices').fill('20')
    await world.advance(60)
    await call('PUT', '/models/m/policy', { enabled: false, canary_percentage: 10 })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody changed the policy after you opened this dialog, so nothing was saved.').waitFor()
    expect((await call('GET', '/models/m/policy')).body).toMatchObject({ enabled: false, canary_percentage: 10 })
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await dialog.getByLabel('Canary, % of devices').fill('20')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await call('GET', '/models/m/policy')).body).toMatchObject({ enabled: false, canary_percentage: 20 })
    await page.unrouteAll({ behavior: 'wait' })
  })

  it('recovers from a network failure, explains it in plain words, keeps its error in view while it tries again, and works even if the browser reports no network', async () => {
    const world = await startWorld({ webFolder })
    const { key } = await world.register('d0')
    await createModel(world, key, 'm', ['1.0.0'])
    const { page, visit } = await openDashboard(world.baseUrl, '/organization/audit')
    const verify = page.getByRole('button', { name: 'Verify' })
    await page.route('**/api/v1/audit/verify', fail)
    await verify.click()
    await page.getByText('The service does not respond. Try again in a moment.').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.unroute('**/api/v1/audit/verify')
    await verify.click()
    await page.getByText('Every entry fits the one before it.').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()

    await page.evaluate(() => window.dispatchEvent(new Event('offline')))
    await visit('/models')
    await page.getByLabel('Search models').fill('n')
    await page.getByText('No model matches').waitFor()
    await page.getByLabel('Search models').fill('M')
    await page.getByRole('link', { name: 'm', exact: true }).click()
    await page.route('**/rollouts/dry-run', fail)
    await page.getByRole('button', { name: 'Deploy 1.0.0' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('this page retries automatically').waitFor()
    await page.unroute('**/rollouts/dry-run')
    await dialog.getByText(/Reaches 1 device/).waitFor()
    await dialog.getByRole('alert').waitFor({ state: 'detached' })

    // Without a valid plan there is nothing to preview, and a refused one is explained once.
    await dialog.getByLabel('First').fill('200')
    await dialog.getByText(/Reaches/).waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Start rollout', exact: true }).waitFor()
    await dialog.getByLabel('First').fill('50')
    await dialog.getByLabel('Up to').fill('40')
    await dialog.getByRole('alert').getByText('must not be below').waitFor()
    expect(await dialog.getByRole('button', { name: 'Start rollout' }).isDisabled()).toBe(true)
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await page.route('**/api/v1/fleet/devices?*', fail)
    await page.getByRole('link', { name: 'Devices', exact: true }).click()
    const alert = page.getByRole('alert')
    await alert.getByText('this page retries automatically').waitFor()
    await page.unroute('**/api/v1/fleet/devices?*')
    let answer = (): void => undefined
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route('**/api/v1/fleet/devices?*', async (route) => {
      await held
      await route.continue()
    })
    const request = page.waitForRequest('**/api/v1/fleet/devices?*')
    await alert.getByRole('button', { name: 'Try again' }).click()
    await request
    expect(await alert.count()).toBe(1)
    answer()
    await page.getByRole('link', { name: 'd0' }).waitFor()
    expect(await alert.count()).toBe(0)

    // A page with several requests explains the failed one, and does not say that there is nothing.
    const json = { error: 'internal_error', message: 'Something failed.', status_code: 500 }
    await page.route('**/api/v1/models?*', (route) => route.fulfill({ status: 500, json }))
    await page.goto(world.baseUrl)
    await alert.getByText('Something failed.').first().waitFor()
    await page.getByText('Nothing is running').waitFor()
    expect(await page.getByText('Nothing has happened yet').count()).toBe(0)
    await page.unroute('**/api/v1/models?*')
    await alert.getByRole('button', { name: 'Try again' }).first().click()
    await expect.poll(() => alert.count()).toBe(0)
    await page.getByText('Model m').waitFor()

    // The code of an area is loaded when it is visited, or its link pointed at.
    const files: string[] = []
    page.on('request', (each) => each.url().includes('/assets/') && files.push(each.url()))
    await page.goto(world.baseUrl)
    await page.getByText('Model m').waitFor()
    expect(files.length).toBeLessThanOrEqual(4)
    await page.route('**/assets/*', fail)
    await page.getByRole('link', { name: 'Experiments', exact: true }).click()
    await alert.getByText('This page could not be loaded').waitFor()
    await page.unroute('**/assets/*')
    await alert.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Experiments', level: 1 }).waitFor()

    await page.getByRole('button', { name: 'Keyboard' }).dblclick()
    await dialog.getByRole('heading', { name: 'Keyboard' }).waitFor()
    await page.getByText('Go to Experiments').dblclick()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })
})
