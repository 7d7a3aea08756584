import { generateSync } from 'otplib'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { PASSWORD, startPeople } from '../../src/control/access/sign-in/people.fixture.ts'
import { startProvider } from '../../src/control/access/sign-in/provider.fixture.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, openDashboard } from './dashboard-tab.ts'

let webFolder = ''
let people: Awaited<ReturnType<typeof startPeople>>

const signIn = async (page: Page, email: string): Promise<void> => {
  await page.getByRole('button', { name: 'Use email and password' }).click()
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Simulates a user returning to the tab. */
const focus = (page: Page): Promise<unknown> => page.evaluate(() => window.dispatchEvent(new Event('focus')))

describe.skipIf(!hasBrowser())('a session that changes under an open page', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
    people = await startPeople({ webFolder })
  })

  it('of another organization is shown in every tab, without anything from the previous one', async () => {
    const { world, join } = people
    await join('ada@acme.example')
    await join('bob@beta.example', 'admin', 'beta')
    const { page, context } = await openDashboard(world.baseUrl, '/organization')
    await signIn(page, 'nobody@acme.example')
    await page.getByText('name yours under Organization').waitFor()
    await page.reload()
    await signIn(page, 'ada@acme.example')
    await page.getByRole('heading', { name: 'Team of acme' }).waitFor()
    const other = await context.newPage()
    await other.goto(world.baseUrl)
    await other.getByText('ada@acme.example · acme').waitFor()
    await other.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    expect(await page.getByText('ada@acme.example').count()).toBe(0)
    await signIn(other, 'bob@beta.example')
    await page.getByRole('heading', { name: 'Team of beta' }).waitFor()
    await page.getByText('bob@beta.example · beta').waitFor()

    // No tab is notified of this change.
    const ada = { email: 'ada@acme.example', password: PASSWORD }
    const response = await context.request.post(`${world.baseUrl}/api/v1/session`, {
      data: ada,
      headers: { origin: world.baseUrl },
    })
    expect(response.status()).toBe(201)
    await focus(page)
    await page.getByRole('heading', { name: 'Team of acme' }).waitFor()
    expect(await page.getByText('beta').count()).toBe(0)
  })

  it('that ends or must be confirmed is continued over the page, which keeps its forms and a key shown once', async () => {
    const { world, byKey, join } = people
    await join('ada@gamma.example', 'admin', 'gamma')
    const { page } = await openDashboard(world.baseUrl, '/organization/keys')
    await signIn(page, 'ada@gamma.example')
    await page.getByRole('button', { name: 'Create service key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Create a service key' })
    await dialog.getByLabel('Name').fill('ci')
    await world.database!.sql.deleteFrom('sessions').execute()
    await focus(page)
    const cover = page.getByRole('dialog', { name: 'Sign in' })
    await cover.getByText('Your session has ended. Sign in again as ada@gamma.example of gamma').waitFor()
    await expectAccessible(page)
    for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
    expect(await cover.getByLabel('Email').inputValue()).toBe('ada@gamma.example')
    await cover.getByLabel('Password').fill(PASSWORD)
    await cover.getByRole('button', { name: 'Sign in', exact: true }).click()
    await cover.waitFor({ state: 'detached' })
    expect(await dialog.getByLabel('Name').inputValue()).toBe('ci')
    await dialog.getByRole('button', { name: 'Create' }).click()
    const key = page.getByText(/^sk_live_\w{32}$/)
    const shown = await key.textContent()

    await byKey('PATCH', '/team/policy', { org_id: 'gamma', reauthenticate_minutes: 5 })
    await world.advance(6 * 60)
    await focus(page)
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    await expectAccessible(page)
    await cover.getByLabel('Password').fill(PASSWORD)
    await cover.getByRole('button', { name: 'Continue' }).click()
    await cover.waitFor({ state: 'detached' })
    expect(await key.textContent()).toBe(shown)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('cell', { name: 'ci', exact: true }).waitFor()
  })

  it('that was confirmed too long ago to change a factor is confirmed over the form, which then continues, and keeps recovery codes until they are saved', async () => {
    const { world, join } = people
    await join('ada@delta.example', 'admin', 'delta')
    const { page } = await openDashboard(world.baseUrl, '/organization/account')
    await signIn(page, 'ada@delta.example')
    const cover = page.getByRole('dialog', { name: 'Sign in' })
    const confirm = async () => {
      await cover.getByLabel('Password').fill(PASSWORD)
      expect(await cover.getByRole('button', { name: 'Use a passkey' }).count()).toBe(0)
      await cover.getByRole('button', { name: 'Continue' }).click()
      await cover.waitFor({ state: 'detached' })
    }
    const begin = page.getByRole('button', { name: 'Set up an authenticator app' })
    await begin.waitFor()
    let passkeys = 0
    page.on('request', (request) => {
      if (request.url().includes('/account/passkeys/')) passkeys++
    })
    const name = page.getByLabel('Name of the passkey')
    await name.fill('   ')
    await page.getByRole('button', { name: 'Add a passkey' }).click()
    const wrong = await name.evaluate((field: HTMLInputElement) => field.validationMessage)
    expect([wrong, passkeys]).toEqual(['Enter more than spaces.', 0])
    // Another refusal with the same status does not ask for a confirmation.
    const json = { error: 'forbidden', message: 'Requests from another site are refused.', status_code: 403 }
    await page.route('**/api/v1/account/totp', (route) => route.fulfill({ status: 403, json }))
    await begin.click()
    await page.getByRole('alert').getByText(json.message).waitFor()
    expect(await cover.count()).toBe(0)
    await page.unroute('**/api/v1/account/totp')
    await world.advance(11 * 60)
    await begin.click()
    await cover.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('alert').getByText('Confirm it’s you before you change how you sign in').waitFor()
    await begin.click()
    await confirm()
    const secret = await page.locator('code').first().textContent()
    await world.advance(11 * 60)
    await focus(page)
    const epoch = Math.floor(world.now().getTime() / 1000)
    await page.getByRole('textbox', { name: 'Code' }).fill(generateSync({ secret: secret!, epoch }))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await confirm()
    // Recovery codes stay until they are saved, whatever is fetched in the meantime.
    const codes = page.getByRole('dialog', { name: 'Your recovery codes' })
    await codes.waitFor()
    await world.advance(11 * 60)
    await focus(page)
    for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
    expect(await codes.locator('code').count()).toBe(10)
    await codes.getByRole('button', { name: 'I have saved them' }).click()
    await world.advance(11 * 60)
    await page.getByRole('button', { name: 'Remove the app' }).click()
    await page.getByRole('dialog', { name: 'Remove the app?' }).getByRole('button', { name: 'Remove' }).click()
    await confirm()
    await begin.waitFor()
  })

  it('a changed role takes effect on an open page', async () => {
    const { world, join } = people
    const id = await join('vic@acme.example', 'viewer')
    const { page } = await openDashboard(world.baseUrl, '/training')
    await signIn(page, 'vic@acme.example')
    const training = page.getByRole('button', { name: 'Start training' })
    await training.waitFor()
    expect(await training.isDisabled()).toBe(true)
    await world.database!.sql.updateTable('people').set({ role: 'admin' }).where('id', '=', id).execute()
    await focus(page)
    await expect.poll(() => training.isDisabled()).toBe(false)
    await page.getByRole('link', { name: 'Organization' }).click()
    const team = page.getByRole('table', { name: 'Team' })
    await team.getByText('vic@acme.example').waitFor()
    await world.database!.sql.updateTable('people').set({ role: 'viewer' }).where('id', '=', id).execute()
    await focus(page)
    await page.getByText("Your role lacks the scope 'admin'").first().waitFor()
    await team.waitFor({ state: 'detached' })
  })

  it('requests without recent input declare that they do not count as activity in the session', async () => {
    const { world, join } = people
    await join('bob@acme.example')
    const { page, context } = await openDashboard('about:blank', '')
    await context.clock.install()
    await page.goto(world.baseUrl)
    await signIn(page, 'bob@acme.example')
    await page.getByText('bob@acme.example · acme').waitFor()
    const requested = async () => {
      const request = page.waitForRequest('**/api/v1/session')
      await focus(page)
      return (await (await request).allHeaders())['x-service-background']
    }
    expect(await requested()).toBeUndefined()
    await context.clock.fastForward(61_000)
    expect(await requested()).toBe('1')
    const read = page.waitForRequest('**/api/v1/fleet/summary')
    await focus(page)
    expect((await (await read).allHeaders())['x-service-background']).toBe('1')
    await page.mouse.move(50, 50)
    expect(await requested()).toBeUndefined()
  })

  it('the identity provider returns to the original page, and users without a password are not asked for one', async () => {
    const provider = await startProvider()
    const { world, byKey } = await startPeople({ webFolder, config: { oidc: provider.settings } })
    await provider.open(world.baseUrl)
    provider.setUser({ sub: 'u-1', email: 'ada@acme.example', name: 'Ada' })
    await byKey('POST', '/team', { email: 'ada@acme.example', role: 'admin', org_id: 'acme' })
    const path = '/organization/keys?kind=personal'
    const { page, context } = await openDashboard(world.baseUrl, path)
    await context.clock.install()
    let callbacks = 0
    await context.route('**/api/v1/session/oidc/callback', (route) => {
      callbacks++
      return route.abort()
    })
    const useProvider = page.getByRole('button', { name: 'Use 127.0.0.1:' })
    await useProvider.click()
    await page.getByRole('heading', { name: 'Not signed in' }).waitFor()
    await context.clock.fastForward(30_000)
    await focus(page)
    await page.getByText('The service does not respond. Try again in a moment.').waitFor()
    expect(callbacks).toBe(1)
    await context.unroute('**/api/v1/session/oidc/callback')
    await page.getByRole('button', { name: 'Back' }).click()
    expect(page.url()).toBe(`${world.baseUrl}${path}`)
    await useProvider.click()
    await page.getByText('ada@acme.example · acme').waitFor()
    expect(page.url()).toBe(`${world.baseUrl}${path}`)
    await byKey('PATCH', '/team/policy', { org_id: 'acme', reauthenticate_minutes: 5 })
    await world.advance(6 * 60)
    await focus(page)
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor()
    expect(await page.getByLabel('Password').count()).toBe(0)
    const back = page.waitForResponse('**/api/v1/session/oidc/callback')
    await useProvider.click()
    expect((await back).status()).toBe(201)
    await page.getByText('No keys of this kind yet').waitFor()
    expect(page.url()).toBe(`${world.baseUrl}${path}`)
    expect(await page.getByRole('heading', { name: 'Confirm it’s you' }).count()).toBe(0)
  })
})
