import type { Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../../src/sdk/device-client.ts'
import { createModel } from '../fleet-of-models.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'
import { addDevices } from './device-rows.ts'
import { copyRow } from './row-copies.ts'

let webFolder = ''

describe.skipIf(!hasBrowser())('the page of a device', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('shows a timeline of its versions, its rounds, why it missed others, and its groups', async () => {
    const world = await startWorld({ webFolder })
    const { key } = await world.register('d0')
    const other = await world.register('d1')
    const send = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
      const response = await world.request(method, `/api/v1${path}`, { key, body })
      expect([200, 201], JSON.stringify(response.body)).toContain(response.status)
      return response.body as Answer
    }
    const model = await createModel(world, key, 'my-model', ['1.0.0', '2.0.0'])
    await send('POST', `/models/${model}/rollouts`, { version: '1.0.0', rollout_percentage: 100 })
    const device = createDevice({ baseUrl: world.baseUrl, deviceId: 'd0', apiKey: key })
    const [given] = await device.assignments()
    await world.advance(60)
    await device.reportAssignment(given!.planId, { state: 'failed', version: '1.0.0', reason: 'out of memory' })
    await world.advance(60)
    await send('PUT', '/devices/d0/heartbeat', { metrics: { battery: 0.8 } })
    await send('POST', '/training/rounds/start', { target_devices: 1, min_devices: 1 })
    const { id: group } = await send<{ id: string }>('POST', '/device-groups', { org_id: 'default', name: 'lab' })
    await send('POST', `/device-groups/${group}/devices`, { device_ids: ['d0', other.deviceId] })

    const tab = await openDashboard(world.baseUrl, '/devices/d0')
    const { page } = tab
    await page.clock.setFixedTime(world.now())
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('failed with my-model 1.0.0, by rollout: out of memory').waitFor()
    await timeline.getByText('last heartbeat').waitFor()
    await timeline.getByText('registered').waitFor()
    const versions = page.getByRole('table', { name: 'Versions' })
    await versions.getByRole('link', { name: 'my-model 1.0.0' }).waitFor()
    await versions.getByText('out of memory').waitFor()
    await page.getByRole('region', { name: 'Groups' }).getByRole('link', { name: 'lab' }).waitFor()
    await page.getByRole('table', { name: 'Participation in rounds' }).getByRole('link', { name: 'Round 1' }).waitFor()
    await page.getByRole('img', { name: /^Heartbeats by time\. heartbeats: 1 at / }).waitFor()
    await page.getByRole('region', { name: 'Metrics' }).getByText('0.8000').waitFor()
    await expectAccessible(page)
    const oneWord = 'f'.repeat(1000)
    await device.reportAssignment(given!.planId, { state: 'failed', version: '1.0.0', reason: oneWord })
    await send('PUT', `/device-groups/${group}`, { name: 'g'.repeat(128) })
    await timeline.getByText(oneWord).waitFor()
    await expectNoSidewaysScroll(page)

    await device.reportAssignment(given!.planId, { state: 'active', version: '1.0.0', metrics: { accuracy: 0.9 } })
    await timeline.getByText('runs my-model 1.0.0, by rollout').waitFor()
    await versions.getByText('accuracy 0.9000').waitFor()
    await versions.getByText('active', { exact: true }).waitFor()

    await send('POST', '/models/my-model/rollouts', { version: '2.0.0', rollout_percentage: 100 })
    const [newer] = await device.assignments()
    await world.advance(60)
    await device.reportAssignment(newer!.planId, { state: 'active', version: '2.0.0' })
    const states = versions.getByRole('row').filter({ hasText: 'my-model' })
    await states.filter({ hasText: '2.0.0' }).getByText('active', { exact: true }).waitFor()
    await states.filter({ hasText: '1.0.0' }).getByText('replaced', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Assigned versions' }).getByText('version 2.0.0').waitFor()

    // The device does not report that it no longer runs a withdrawn version.
    for (const { planId } of [newer!, given!]) await send('POST', `/models/${model}/rollouts/${planId}/rollback`, {})
    await states.filter({ hasText: '2.0.0' }).getByText('no longer assigned').waitFor()
    expect(tab.wrong()).toEqual([])
  })

  it("is reachable whatever the device's name is, and says if the device is gone", async () => {
    const world = await startWorld({ webFolder })
    const names = ['a%41', '50% off', 'a/b', 'a%2Fb', '%', 'ü?#&']
    const { key } = await world.register('plain')
    for (const name of names) await world.register(name)
    const send = (method: string, path: string, body?: unknown) =>
      world.request(method, `/api/v1${path}`, { key, body })
    const made = (name: string) => send('POST', '/device-groups', { org_id: 'default', name })
    const [one, two] = await Promise.all(['one', 'two'].map(async (name) => (await made(name)).body as { id: string }))
    // Before the page is open, which would show each of them.
    await copyRow(world, 'device_groups', { id: one!.id, count: 100, column: 'name', prefix: 'group ' })
    const tab = await openDashboard(world.baseUrl, '/devices')
    const { page } = tab
    for (const name of names) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
      await page.getByRole('region', { name: 'Capabilities' }).waitFor()
      await page.goBack()
    }
    await tab.visit('/devices/50%')
    await page.getByText("'50%'").waitFor()
    await tab.visit('/devices?status=bogus&sort=constructor')
    await page.getByRole('link', { name: 'a%41', exact: true }).waitFor()
    await tab.visit('/training?page=1e308&status=bogus')
    await page.getByText('No training jobs yet').waitFor()
    await tab.visit('/delivery/policies/no-such-model')
    await page.getByRole('alert').getByText("'no-such-model' does not exist").waitFor()
    expect(await page.getByRole('button', { name: 'Set a policy' }).count()).toBe(0)

    await tab.visit(`/delivery/groups/${one!.id}`)
    await page.getByRole('heading', { name: 'one', level: 1 }).waitFor()
    await page.route(`**/device-groups/${two!.id}`, () => undefined)
    await tab.visit(`/delivery/groups/${two!.id}`)
    await page.getByRole('heading', { name: 'Group', exact: true, level: 1 }).waitFor()
    expect(await page.getByText('one', { exact: true }).count()).toBe(0)
    await tab.visit(`/delivery/groups/${one!.id}`)
    await page.getByRole('button', { name: 'Add devices' }).waitFor()
    await send('DELETE', `/device-groups/${one!.id}`)
    await page.getByRole('alert').getByText('does not exist').first().waitFor()
    await page.getByRole('button', { name: 'Add devices' }).waitFor({ state: 'detached' })

    await tab.visit('/delivery/groups?page=7')
    await page.getByText('Page 2 of 2').waitFor()
    expect(new URL(page.url()).search).toBe('?page=2')
  })

  it('is linked from a long list, which shows new devices without fetching what is out of view', async () => {
    const world = await startWorld({ webFolder })
    await addDevices(world, 400)
    const tab = await openDashboard(world.baseUrl)
    const { page } = tab
    await page.getByText('Live', { exact: true }).waitFor()
    let requests: string[] = []
    let isLimited = false
    await page.route('**/api/v1/fleet/devices?*', async (route) => {
      requests.push(route.request().url())
      if (!isLimited) return route.continue()
      const json = { error: 'rate_limited', message: 'Try again in 1 s.', status_code: 429 }
      await route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json })
    })
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    const registerNext = async (name: string): Promise<void> => {
      await world.advance(1)
      await world.register(name)
    }
    await tab.visit('/devices?sort=created&desc=true')
    await link('n399').waitFor()
    const isAtEnd = async () => {
      await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight))
      return link('n000').isVisible()
    }
    await expect.poll(isAtEnd, { interval: 100 }).toBe(true)
    expect(requests).toHaveLength(8)

    requests = []
    const shown = page.waitForRequest('**/api/v1/fleet/devices?*')
    await registerNext('n400')
    await shown
    await page.evaluate(() => window.scrollTo(0, 0))
    await link('n400').waitFor()
    // The pages at the end that were in view, those at the top, and perhaps those in between that the way passed.
    expect(requests.length).toBeLessThan(8)

    isLimited = true
    const limited = page.waitForResponse((response) => response.status() === 429)
    await registerNext('n401')
    await limited
    isLimited = false
    await link('n401').waitFor()
  })

  it('is in a long list even if it was registered shortly before the next page was loaded', async () => {
    const world = await startWorld({ webFolder })
    await addDevices(world, 60)
    await world.advance(1)
    const tab = await openDashboard(world.baseUrl)
    const { page } = tab
    await page.getByText('Live', { exact: true }).waitFor()
    const nextPage = '**/api/v1/fleet/devices?*after=*'
    const link = (name: string) => page.getByRole('link', { name, exact: true })
    // Takes longer than the list waits before it is refetched.
    const late = async (route: Route) => {
      await new Promise((resolve) => setTimeout(resolve, 4000))
      await route.continue()
    }
    await page.route(nextPage, late, { times: 1 })
    await tab.visit('/devices?sort=created&desc=true')
    await link('n059').waitFor()
    await world.register('new')
    // Until the page has received the event.
    await page.waitForTimeout(1000)
    const next = page.waitForRequest(nextPage)
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight))
    await next
    await link('new').waitFor({ timeout: 20_000 })
    await link('n000').waitFor()
  })
})
