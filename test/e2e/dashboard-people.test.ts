import { beforeAll, describe, expect, it, vi } from 'vitest'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, openDashboard } from './dashboard-tab.ts'

// Service and browser start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 90_000 })

const PASSWORD = 'four unrelated words here'

let webFolder = ''

const start = async () => {
  const world = await startWorld({ webFolder, config: { enrollment: 'token' } })
  const invite = async (email: string, role: string) => {
    const body = { email, role, org_id: 'acme' }
    const answer = await world.request('POST', '/api/v1/team', { key: world.service.firstAdminKey!, body })
    return (answer.body as { link: string }).link
  }
  return { world, invite }
}

describe.skipIf(!hasBrowser())('people in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('an invited admin joins by the link, signs in by password, and sees the team', async () => {
    const { world, invite } = await start()
    const link = await invite('ada@acme.example', 'admin')
    const { page, wrong } = await openDashboard(link, '')
    await page.getByRole('heading', { name: 'Join acme' }).waitFor()
    expect(page.url()).toBe(`${world.baseUrl}/`)
    await expectAccessible(page)
    await page.getByLabel('Name').fill('Ada')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Join' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    expect(await page.getByLabel('Email').inputValue()).toBe('ada@acme.example')
    await expectAccessible(page)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('ada@acme.example · acme').waitFor()
    await page.getByRole('link', { name: 'Organization' }).click()
    await page.getByRole('cell', { name: 'ada@acme.example', exact: true }).waitFor()
    expect(wrong()).toEqual([])
  })

  it('a viewer sees the fleet, and is told that the team is for admins', async () => {
    const { invite } = await start()
    const { page } = await openDashboard(await invite('vic@acme.example', 'viewer'), '')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Join' }).click()
    await page.getByRole('heading', { name: 'Sign in to Tributary' }).waitFor()
    await page.getByLabel('Password').fill('another password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('vic@acme.example · acme').waitFor()
    await page.getByRole('link', { name: 'Organization' }).click()
    await page.getByText("lacks the scope 'admin'").first().waitFor()
    await page.getByRole('link', { name: 'Devices' }).click()
    await page.getByText('No device').first().waitFor()
  })
})
