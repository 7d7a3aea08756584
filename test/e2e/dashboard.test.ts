import { beforeAll, describe, expect, it } from 'vitest'
import { createClient, unwrap } from '../../src/client/client.ts'
import { openFederation } from '../../src/control/federations/federation.fixture.ts'
import { createDevice } from '../../src/sdk/device-client.ts'
import { takePart } from '../../src/sdk/take-part.ts'
import { emptyFolder } from '../databases.ts'
import { comeOnce, play, startFleet, startJob, uploadModel } from '../training-fleet.ts'
import { formOf, startWorld, type World } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'
import { copyRow } from './row-copies.ts'
import { onServer, runService } from './service-process.ts'

let webFolder = ''

const startServed = (options: Parameters<typeof startWorld>[0] = {}): Promise<World> =>
  startWorld({ ...options, webFolder })

interface Started {
  readonly id: string
}

/** Three devices that trained their own model in a job with this many rounds. */
const startTrained = async (rounds = 3) => {
  const world = await startServed()
  const fleet = await startFleet(world, 3)
  const { key } = fleet[0]!
  await uploadModel(world, key)
  const { body } = await startJob(world, key, { name: 'first try', rounds, min_devices: 3, target_devices: 3 })
  const { id } = body as Started
  return { world, fleet, key, id }
}

describe.skipIf(!hasBrowser())('the dashboard in a browser', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('shows what devices did on every page; axe finds nothing in light and dark mode, and nothing scrolls sideways', async () => {
    const { world, fleet, key, id } = await startTrained()
    const job = await play(world, id, fleet)
    expect(job).toMatchObject({ status: 'completed', rounds_completed: 3 })
    const three = { target_devices: 3, min_devices: 3 }
    const timedOut = await world.request('POST', '/api/v1/training/rounds/start', { key, body: three })
    await world.advance(24 * 3600)
    const tab = await openDashboard(world.baseUrl)
    const { page } = tab

    await page.getByText('first try', { exact: true }).first().waitFor()
    const check = async () => {
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
    }
    await check()

    await page.getByRole('link', { name: 'Devices', exact: true }).click()
    await page.getByRole('row').nth(3).waitFor()
    expect(await page.getByRole('row').getByRole('link').allTextContents()).toEqual(['d0', 'd1', 'd2'])
    await check()
    await page.getByRole('link', { name: 'd1' }).click()
    await page.getByRole('region', { name: 'Capabilities' }).waitFor()
    expect(await tab.heading()).toBe('d1')
    const part = page.getByRole('table', { name: 'Participation in rounds' })
    await part.getByText('delivered').nth(2).waitFor()
    expect(await part.getByText('Selected: drawn at random').count()).toBeGreaterThan(0)
    await check()

    await page.getByRole('link', { name: 'Training', exact: true }).click()
    await page.getByRole('table', { name: 'Training jobs' }).getByRole('link').waitFor()
    await page.getByRole('table', { name: 'Rounds' }).getByText('failed', { exact: true }).waitFor()
    await check()
    await page.getByRole('link', { name: 'first try' }).click()
    await page.getByRole('row').nth(3).waitFor()
    expect(await tab.heading()).toBe('first try')
    const { history } = job
    const told = await page.getByRole('img', { name: /^Loss by job round/ }).getAttribute('aria-label')
    expect(told).toContain(`first try: ${history[2]!.loss!.toFixed(4)} at job round 3, lowest `)
    await check()

    await page.getByRole('link', { name: 'Round 3' }).click()
    await page.getByRole('table', { name: 'Participants' }).getByRole('link', { name: 'd0' }).waitFor()
    expect(await page.getByRole('table', { name: 'Participants' }).getByText('delivered').count()).toBe(3)
    await check()
    await tab.visit(`/training/rounds/${(timedOut.body as Started).id}`)
    await page
      .getByRole('img', { name: /^Model fetched: never; update delivered: never, failed after / })
      .nth(2)
      .waitFor()

    await page.goto(`${world.baseUrl}/nowhere`)
    await page.getByRole('heading', { name: 'No such page' }).waitFor()
    await check()
    await tab.visit('/organization/keys')
    await page.getByRole('heading', { name: 'No such page' }).waitFor({ state: 'detached' })
    await tab.visit('/organization/people')
    await page.getByRole('heading', { name: 'No such page' }).waitFor()
    expect(tab.wrong()).toEqual([])
  })

  it("draws a job's next point when its round ends, and shows what devices send while it runs", async () => {
    const { world, fleet, id } = await startTrained()
    const tab = await openDashboard(world.baseUrl, `/training/jobs/${id}`)
    await tab.page.getByText('No round has reported a loss yet').waitFor()
    await world.service.runDueTasks()
    for (const round of [1, 2]) {
      await comeOnce(fleet)
      await world.service.runDueTasks()
      const point = new RegExp(`^Loss by job round\\..* at job round ${round}, lowest .* at job round ${round}`)
      await tab.page.getByRole('img', { name: point }).waitFor()
    }
    const drawn = () =>
      tab.page
        .locator('figure canvas')
        .first()
        .evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL())
    const grown = await drawn()
    await tab.page.reload()
    await tab.page.getByRole('img', { name: /^Loss by job round\..* at job round 2, lowest/ }).waitFor()
    // The ring around the best point has moved too.
    await expect.poll(drawn).toBe(grown)
    expect(tab.wrong()).toEqual([])
  })

  it("asks for a key under token enrollment, stores none of it, and shows only its organization's data", async () => {
    const world = await startServed({ config: { enrollment: 'token' } })
    const admin = world.service.firstAdminKey!
    const keyOf = async (org_id: string) => {
      const body = { name: `of ${org_id}`, org_id, scopes: ['devices:read', 'devices:write', 'training:read'] }
      return ((await world.request('POST', '/api/v1/keys', { key: admin, body })).body as { api_key: string }).api_key
    }
    const [acme, beta] = [await keyOf('acme'), await keyOf('beta')]
    for (const [key, device_id] of [
      [acme, 'ours'],
      [beta, 'theirs'],
    ] as const) {
      await world.request('POST', '/api/v1/devices/register', { key, body: { device_id } })
    }
    const tab = await openDashboard(world.baseUrl, '/devices')
    const { page } = tab
    const field = page.getByLabel('API key')
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await field.fill(`sk_live_${'x'.repeat(32)}`)
    await field.press('Enter')
    await page.getByRole('alert').waitFor()
    await field.fill(acme)
    await field.press('Enter')
    await page.getByRole('row').nth(1).waitFor()
    expect(await page.getByRole('row').getByRole('link').allTextContents()).toEqual(['ours'])
    const kept = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    )
    expect(kept).toBe('["",{},{}]')
    expect(await page.content()).not.toContain('sk_live_')
    await page.reload()
    await page.getByRole('row').nth(1).waitFor()
    await tab.context.setOffline(true)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('alert').getByText('Still signed in').waitFor()
    await tab.context.setOffline(false)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await field.waitFor()
  })

  it('distinguishes devices and models with the same name in two organizations, and says what needs attention', async () => {
    const { world, send, admin, keyOf } = await openFederation({ webFolder })
    for (const org of ['acme', 'beta'])
      await send(await keyOf(org), 'POST', '/devices/register', { device_id: 'phone' })
    const { body } = await send(admin, 'POST', '/devices/register', { device_id: 'iphone-0' })
    await copyRow(world, 'devices', { id: body.id as string, count: 100, column: 'device_id', prefix: 'iphone-' })
    const model = await send(admin, 'POST', '/models', { name: 'm', org_id: 'acme', framework: 'pytorch' })
    await send(admin, 'POST', '/models', { name: 'm' })
    await send(admin, 'PUT', `/models/${model.body.id}/policy`, { enabled: true })
    const form = formOf(new Uint8Array(8), {}, 'w.bin')
    await world.request('POST', `/api/v1/models/${model.body.id}/versions/upload`, { key: admin, body: form })
    const rollouts = `/models/${model.body.id}/rollouts`
    const rollout = await send(admin, 'POST', rollouts, { version: '1', rollout_percentage: 10 })
    expect(await send(admin, 'POST', `${rollouts}/${rollout.body.rollout_id}/pause`)).toMatchObject({ status: 200 })
    const tooLarge = { model: model.body.id, name: 'too large', raw_vector: true, rounds: 1, min_devices: 500 }
    expect(await send(admin, 'POST', '/training/jobs', tooLarge)).toMatchObject({ body: { status: 'pending' } })
    await world.service.runDueTasks()
    const tab = await openDashboard(world.baseUrl)
    await tab.page.getByLabel('API key').fill(admin)
    await tab.page.keyboard.press('Enter')
    const attention = tab.page.getByRole('region', { name: 'Needs attention' })
    await attention.getByText('Rollout of m').waitFor()
    await attention.getByText('Waits for 500 active devices').waitFor()
    await attention.getByRole('link', { name: 'too large' }).click()
    await tab.page.getByText(/^It stops waiting in /).waitFor()
    await tab.visit('/training?status=pending')
    await tab.page.getByRole('link', { name: 'too large' }).waitFor()
    await tab.visit('/devices/phone')
    await tab.page.getByRole('link', { name: 'phone of beta' }).click()
    await tab.page.getByText('Capabilities').waitFor()
    expect(new URL(tab.page.url()).search).toBe('?org=beta')

    await tab.visit('/delivery/policies')
    await tab.page.getByRole('link', { name: 'm', exact: true }).click()
    await tab.page.getByText('enabled', { exact: true }).first().waitFor()
    const rolloutPath = `/delivery/rollouts/${model.body.id}/${rollout.body.rollout_id}`
    await tab.visit(rolloutPath)
    await tab.page.getByRole('link', { name: 'm', exact: true }).click()
    await tab.page.getByRole('link', { name: 'delivers automatically' }).waitFor()
    expect(new URL(tab.page.url()).pathname).toBe(`/models/${model.body.id}`)
  })

  it('is usable by keyboard alone', async () => {
    const { world } = await startTrained()
    const tab = await openDashboard(world.baseUrl)
    const { page } = tab
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await page.getByRole('heading', { name: 'Home' }).waitFor()
    await press('Tab')
    expect(await page.locator(':focus').textContent()).toBe('Skip to content')
    await press('g', 'd')
    await page.getByRole('row').nth(3).waitFor()
    await press('/')
    await page.keyboard.type('D2')
    await expect.poll(() => page.getByRole('row').getByRole('link').allTextContents()).toEqual(['d2'])
    expect(new URL(page.url()).search).toBe('?q=D2')
    await press('Escape', '?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await expectAccessible(page)
    await press('g', 't')
    expect(new URL(page.url()).pathname).toBe('/devices')
    await press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('searchbox').focus()
    const focused = () => page.locator(':focus').textContent()
    for (let steps = 0; steps < 20 && (await focused()) !== 'd2'; steps++) await press('Tab')
    const outline = await page.locator(':focus').evaluate((element) => getComputedStyle(element).outlineStyle)
    expect(outline).toBe('solid')
    await press('Enter')
    await page.getByRole('heading', { name: 'd2', level: 1 }).waitFor()
    await expect.poll(focused).toBe('d2')
    await press('g', 't')
    await page.getByRole('link', { name: 'first try' }).focus()
    await press('Enter')
    await page.getByRole('button', { name: 'Stop job', disabled: false }).focus()
    await press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Stop this job?' })
    await dialog.waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Stop job', disabled: false }).focus()
    await press('Enter')
    await page.getByText('stopped', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Resume job', disabled: false }).focus()
    await press('Enter')
    const resuming = page.getByRole('dialog', { name: 'Resume this job' })
    await resuming.getByText(/continues from the model|starts over with its first round/).waitFor()
    await expectAccessible(page)
    await resuming.getByRole('button', { name: 'Resume job' }).focus()
    await press('Enter')
    await page.getByRole('button', { name: 'Stop job' }).waitFor()
    // Dialogs take no shortcuts.
    await resuming.waitFor({ state: 'detached' })
    await press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.goBack()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await press('g', 't')
    await page.getByRole('button', { name: 'Start training', disabled: false }).focus()
    await press('Enter')
    await page.getByRole('dialog', { name: 'Start training' }).waitFor()
    await expectAccessible(page)
    expect(tab.wrong()).toEqual([])
  })

  it('needs one stream for two tabs; the second takes it over when the first is closed', async () => {
    const world = await startServed()
    await world.register('d0')
    const tab = await openDashboard(world.baseUrl, '/devices')
    await tab.page.getByText('Live', { exact: true }).waitFor()
    const streams: string[] = []
    tab.context.on('request', (request) => {
      if (request.url().includes('/api/v1/events')) streams.push(request.url())
    })
    const second = await tab.context.newPage()
    await second.goto(`${world.baseUrl}/devices`)
    const pages = [tab.page, second]
    for (const page of pages) await page.getByText('Live', { exact: true }).waitFor()
    expect(streams).toEqual([])
    const shows = (page: (typeof pages)[number], name: string) =>
      page.getByRole('link', { name, exact: true }).waitFor()
    await world.register('d1')
    for (const page of pages) await shows(page, 'd1')
    await tab.page.close()
    await expect.poll(() => streams.length).toBe(1)
    await second.getByText('Live', { exact: true }).waitFor()
    await world.register('d2')
    await shows(second, 'd2')
  })

  it('recovers in two browsers when the service is killed and restarted during the round that they show', async () => {
    const [dataDir, server] = await Promise.all([emptyFolder(), onServer()])
    let service = await runService(dataDir, server)
    const { baseUrl } = service
    const settings = { ...server, SERVICE_PORT: new URL(baseUrl).port }
    const devices = await Promise.all(
      ['d0', 'd1', 'd2'].map(async (deviceId) => {
        const device = createDevice({ baseUrl, deviceId })
        return { device, key: (await device.register()).apiKey }
      }),
    )
    const api = createClient({ baseUrl, apiKey: devices[0]!.key })
    const body = { target_devices: 3, min_devices: 3 }
    const round = await unwrap(api.POST('/api/v1/training/rounds/start', { body }))
    // All have fetched the plan before the service is killed; each sends its update when told to.
    const weights = new Uint8Array(new Float32Array(4).buffer)
    const parts = devices.map(({ device }) => {
      let finish = (): void => undefined
      const trained = new Promise<void>((resolve) => {
        finish = resolve
      })
      const taken = takePart(device, round.id, async () => {
        await trained
        return { weights, report: { numSamples: 1 }, globalModel: null }
      })
      return { taken, finish }
    })
    const send = (index: number) => {
      parts[index]!.finish()
      return parts[index]!.taken
    }
    const tabs = await Promise.all([0, 1].map(() => openDashboard(baseUrl, `/training/rounds/${round.id}`)))
    const showsAll = (text: string) => Promise.all(tabs.map(({ page }) => page.getByText(text).first().waitFor()))
    await showsAll('0 of 3')
    await showsAll('Live')
    for (const { page } of tabs) await page.evaluate('globalThis.opened = "once"')
    await send(0)
    await showsAll('1 of 3')

    await service.kill()
    await showsAll('Cannot reach the service, retrying')
    service = await runService(dataDir, settings)
    await send(1)
    await showsAll('2 of 3')
    await showsAll('Live')
    await send(2)
    await showsAll('completed')
    for (const { page } of tabs) expect(await page.evaluate('globalThis.opened')).toBe('once')
  })
})
