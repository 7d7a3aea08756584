import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { PASSWORD, startPeople } from '../../src/control/access/sign-in/people.fixture.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

const ACCOUNT = '**/api/v1/account'

const focus = (page: Page): Promise<unknown> => page.evaluate(() => window.dispatchEvent(new Event('focus')))

/** The tag and name or text of what has the focus. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { activeElement: active } = document
    return `${active?.tagName} ${active?.getAttribute('name') ?? active?.textContent ?? ''}`
  })

const fail = (route: Route): Promise<void> =>
  route.fulfill({ status: 500, json: { error: 'internal', message: 'Something broke.', status_code: 500 } })

/** Someone with accounts in two organizations, signed in to `acme`. */
const openAccount = async () => {
  const people = await startPeople({ webFolder })
  await people.join('ada@acme.example')
  await people.join('ada@acme.example', 'admin', 'beta')
  const { page } = await openDashboard(people.world.baseUrl, '/organization/account')
  await page.getByRole('button', { name: 'Use email and password' }).click()
  await page.getByLabel('Email').fill('ada@acme.example')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('Organization').fill('acme')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'My account' }).waitFor()
  return { ...people, page, cover: page.getByRole('dialog', { name: 'Sign in' }) }
}

describe.skipIf(!hasBrowser())('the dialog over a page', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('whose session has ended knows the organization and keeps the focus; if the button that opened it is gone, the heading gets it; a refused stream connects again', async () => {
    const { world, byKey, page, cover } = await openAccount()
    await world.database!.sql.deleteFrom('sessions').execute()
    await focus(page)
    await cover.waitFor()
    expect(await cover.getByLabel('Organization').inputValue()).toBe('acme')
    await cover.getByRole('button', { name: 'Use an API key' }).click()
    await expect.poll(() => focused(page)).toBe('INPUT key')
    await cover.getByRole('button', { name: 'Use email and password' }).click()
    await expect.poll(() => focused(page)).toBe('INPUT email')
    await cover.getByLabel('Password').fill(PASSWORD)
    await cover.getByRole('button', { name: 'Sign in', exact: true }).click()
    await cover.waitFor({ state: 'detached' })
    await page.getByText('ada@acme.example · acme').waitFor()

    await byKey('POST', '/team', { email: 'bob@acme.example', role: 'viewer', org_id: 'acme' })
    await page.getByRole('link', { name: 'Team', exact: true }).click()
    await page.getByRole('button', { name: 'Remove bob@acme.example' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => focused(page)).toBe('H1 Organization')

    let requested = 0
    await page.route('**/api/v1/events', (route) =>
      requested++ === 0
        ? route.fulfill({ status: 401, json: { error: 'unauthorized', message: 'No.', status_code: 401 } })
        : route.fallback(),
    )
    await page.reload()
    await page.locator('[data-mode=live]').waitFor()
    expect(requested).toBe(2)
  })

  it('that asks for a confirmation can be left in every state', async () => {
    const { world, byKey, page, cover } = await openAccount()
    await byKey('PATCH', '/team/policy', { org_id: 'acme', reauthenticate_minutes: 5 })
    await page.route(ACCOUNT, () => new Promise(() => undefined))
    await world.advance(6 * 60)
    await focus(page)
    await cover.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    await cover.getByRole('status', { name: 'Loading' }).waitFor()
    await cover.getByRole('button', { name: 'Sign out' }).waitFor()
    await expect.poll(() => focused(page)).toBe('H1 Confirm it’s you')
    expect(await cover.getByRole('button', { name: 'Cancel' }).count()).toBe(0)

    await page.unroute(ACCOUNT)
    await page.route(ACCOUNT, fail)
    await page.reload()
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    await page.getByText('Something broke.').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    await expectAccessible(page)
    await page.unroute(ACCOUNT)
    await page.route(ACCOUNT, async (route) => {
      const response = await route.fetch()
      const none = { password: false, passkeys: 0, identity_provider: false }
      await route.fulfill({ response, json: { ...(await response.json()), ...none } })
    })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Your account has no password, passkey, or identity provider').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
  })

  it('that asks for a confirmation focuses the password; one that was requested can also be canceled', async () => {
    const { world, byKey, page, cover } = await openAccount()
    await byKey('PATCH', '/team/policy', { org_id: 'acme', reauthenticate_minutes: 30 })
    const request = page.getByRole('button', { name: 'Set up an authenticator app' })
    await request.waitFor()
    await world.advance(11 * 60)
    await page.route(ACCOUNT, fail)
    await request.click()
    await cover.getByText('Something broke.').waitFor()
    await cover.getByRole('button', { name: 'Cancel' }).click()
    await cover.waitFor({ state: 'detached' })
    // The button was disabled meanwhile, and lost the focus.
    await expect.poll(() => focused(page)).toBe('H1 Organization')
    await page.unroute(ACCOUNT)

    await world.advance(31 * 60)
    await focus(page)
    await cover.waitFor()
    await expect.poll(() => focused(page)).toBe('INPUT password')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await cover.waitFor({ state: 'detached' })
    await expect.poll(() => focused(page)).toBe('H1 Organization')
  })
})
