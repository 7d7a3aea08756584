import { beforeAll, describe, expect, it } from 'vitest'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

describe.skipIf(!hasBrowser())('the reference of the API', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('finds operations by search, shows how programs call them, tries them with the session, and reads a stream until it is stopped', async () => {
    const world = await startWorld({ webFolder })
    await world.register('pixel-7')
    const { page, wrong, visit } = await openDashboard(world.baseUrl, '/docs')
    const list = page.getByRole('navigation', { name: 'Operations' })
    await list.waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('fleet/devices search')
    await expect.poll(() => list.getByRole('link').count()).toBe(1)
    await expectAccessible(page)
    await list.getByRole('link').click()
    await page.getByRole('heading', { level: 1, name: 'Search and sort devices' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/docs/searchDevices')
    await page.getByLabel('q', { exact: true }).fill('pixel')
    const example = page.getByRole('region', { name: 'curl example' })
    await example.getByText(`'${world.baseUrl}/api/v1/fleet/devices?q=pixel'`).waitFor()
    await page.getByRole('button', { name: 'TypeScript' }).click()
    await page.getByText("api.GET('/api/v1/fleet/devices'").waitFor()
    await page.getByRole('button', { name: 'Send GET' }).click()
    await page.getByRole('region', { name: 'response body' }).getByText('"device_id": "pixel-7"').waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    expect(wrong()).toEqual([])

    await visit('/docs/streamEvents')
    await page.getByRole('button', { name: 'Send GET' }).click()
    await page.getByRole('region', { name: 'response body' }).getByText('event: ready').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Send GET' }).waitFor()
  })

  it('sends bodies, reports what is wrong with them, and links names to schemas', async () => {
    const world = await startWorld({ webFolder })
    const { page, wrong, visit } = await openDashboard(world.baseUrl, '/docs/createModel')
    const body = page.getByLabel('Body', { exact: true })
    await body.fill('{"name": ')
    expect(await page.getByRole('button', { name: 'Send POST' }).isDisabled()).toBe(true)
    await body.fill('{"name": "from-the-page"}')
    await page.getByRole('button', { name: 'Send POST' }).click()
    await page.getByRole('region', { name: 'response body' }).getByText('"name": "from-the-page"').waitFor()
    await page.getByRole('link', { name: 'Model', exact: true }).first().click()
    await page.getByRole('heading', { level: 1, name: 'Model', exact: true }).waitFor()
    await page.getByRole('table', { name: 'Fields of Model' }).waitFor()
    await visit('/docs/schemas/constructor')
    await page.getByRole('heading', { level: 1, name: 'No such schema' }).waitFor()
    await page.goBack()
    await page.getByRole('table', { name: 'Fields of Model' }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    expect(wrong()).toEqual([])
  })
})
