import { beforeAll, describe, expect, it } from 'vitest'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

describe.skipIf(!hasBrowser())('the organization in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('says before somebody joins that open enrollment asks for no account', async () => {
    const world = await startWorld({ webFolder })
    const { key } = await world.register('d0')
    const body = { email: 'ada@example.org', role: 'viewer' }
    const { link } = (await world.request('POST', '/api/v1/team', { key, body })).body as { link: string }
    const { page } = await openDashboard(link, '')
    await page.getByText(/^Enrollment is open, so the dashboard asks nobody to sign in\./).waitFor()
    await expectAccessible(page)
  })

  it('invites people, and creates, rotates, and revokes keys', async () => {
    const world = await startWorld({ webFolder })
    const { page, wrong, visit } = await openDashboard(world.baseUrl, '/organization')
    const dialog = page.getByRole('dialog')
    await page.getByText('Nobody is on this team yet').waitFor()
    await page.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByLabel('Email').fill(' ada@example.org')
    await dialog.getByLabel('Role').selectOption('viewer')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Invite' }).click()
    await page.getByText(/#invitation=[\w-]{43}$/).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Set role of ada@example.org' }).click()
    await dialog.getByLabel('Role').selectOption('member')
    await dialog.getByRole('button', { name: 'Set role' }).click()
    await page.getByRole('cell', { name: 'member', exact: true }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    const email = `${'ada'.repeat(20)}@example.org`
    const { key: ofDevice } = await world.register('d0')
    await world.request('POST', '/api/v1/team', { key: ofDevice, body: { email, role: 'viewer' } })
    await page.reload()
    await page.getByText(email).waitFor()
    for (const width of [1440, 1000, 700]) {
      await page.setViewportSize({ width, height: 900 })
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll('table')].map(({ parentElement: box }) => box!.scrollWidth - box!.clientWidth),
      )
      expect([width, wide]).toEqual([width, [0]])
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.clock.install()
    await visit('/organization/account')
    await page.getByText(/^Enrollment is open, so nobody signs in\./).waitFor()
    await visit('/organization')
    await page.getByText(email).waitFor()
    await world.request('POST', '/api/v1/team', { key: ofDevice, body: { email: 'bob@example.org', role: 'viewer' } })
    await page.clock.fastForward(30_000)
    await page.getByText('bob@example.org').waitFor()
    for (const one of [email, 'bob@example.org', 'ada@example.org']) {
      await page.getByRole('button', { name: `Remove ${one}`, exact: true }).click()
      await dialog.getByRole('button', { name: 'Remove' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await page.getByText('Nobody is on this team yet').waitFor()

    await visit('/organization/keys')
    await page.getByText('No keys of this kind yet').waitFor()
    await page.getByRole('button', { name: 'Create service key' }).click()
    await dialog.getByLabel('Name').fill('   ')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByLabel('Name').fill(' ci ')
    await expectAccessible(page)
    await page.mouse.click(5, 5)
    // While the form is being sent, and while a secret is shown, Esc does not close the dialog.
    await page.route('**/api/v1/keys', async (route) => {
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Create' }).click()
    const shown = page.getByText(/^sk_live_\w{32}$/)
    await shown.waitFor()
    await page.unroute('**/api/v1/keys')
    for (const _ of [1, 2, 3]) await page.keyboard.press('Escape')
    await page.getByText('It never expires.').waitFor()
    const old = await shown.textContent()
    // As on plain HTTP, where the browser offers no clipboard.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }))
    await page.getByRole('button', { name: 'Copy key' }).click()
    await page.getByRole('button', { name: 'Copied key' }).waitFor()
    await page.evaluate(() => {
      document.execCommand = () => false
    })
    await page.getByRole('button', { name: 'Copy key' }).click()
    await page.getByRole('button', { name: 'Could not copy key' }).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Rotate ci' }).click()
    await dialog.getByLabel('Overlap').fill('0')
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    const key = (await shown.textContent())!
    const works = async (given: string) => (await world.request('GET', '/api/v1/keys/self', { key: given })).status
    expect([await works(old!), await works(key)]).toEqual([401, 200])
    await page.getByRole('button', { name: 'Done' }).click()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page
      .getByRole('row')
      .filter({ hasText: key.slice(0, 14) })
      .getByRole('button', { name: 'Revoke ci' })
      .click()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('revoked').waitFor()
    expect(await works(key)).toBe(401)
    expect(wrong()).toEqual([])

    await page.getByRole('button', { name: 'Create service key' }).click()
    await dialog.getByText('unless your organization limits the lifetime of keys').waitFor()
    await dialog.getByLabel('Name').fill('short')
    await dialog.getByLabel('Lifetime in days').fill('5')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByText(/It expires on \w+/).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    // By the service's clock: the browser's is months ahead.
    await page.getByRole('button', { name: 'Rotate short' }).waitFor()
    await world.advance(6 * 86_400)
    await page.reload()
    await page.getByRole('row').filter({ hasText: 'short' }).getByText('expired').waitFor()
    await page.getByRole('button', { name: 'Revoke short' }).waitFor()
    expect(await page.getByRole('button', { name: 'Rotate short' }).count()).toBe(0)

    await page.route('**/api/v1/keys', (route) =>
      route.request().method() === 'POST' ? route.abort() : route.continue(),
    )
    await page.getByRole('button', { name: 'Create service key' }).click()
    await dialog.getByLabel('Name').fill('lost')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByRole('alert').getByText('it is unknown whether this was done').waitFor()
    await dialog.getByLabel('Name').fill('')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByRole('alert').waitFor({ state: 'detached' })
  })
})
