import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../../src/sdk/device-client.ts'
import { createModel, uploadVersion } from '../fleet-of-models.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'
import { startDelivered } from './delivery-world.ts'
import { copyRow } from './row-copies.ts'

let webFolder = ''

/** Four SDK devices, and a model with two versions. */
const startFleet = async () => {
  const world = await startWorld({ webFolder })
  const devices = await Promise.all(
    ['d0', 'd1', 'd2', 'd3'].map(async (deviceId) => {
      const { key } = await world.register(deviceId)
      return { key, device: createDevice({ baseUrl: world.baseUrl, deviceId, apiKey: key }) }
    }),
  )
  const { key } = devices[0]!
  await createModel(world, key, 'my-model', ['1.0.0', '2.0.0'])
  const tab = await openDashboard(world.baseUrl, '/models')
  await tab.page.clock.setFixedTime(world.now())
  return { world, devices, key, tab, page: tab.page }
}

/** Actions of a person without a mouse. */
const keyboardOf = (page: Page) => {
  const press = async (name: string, within: { getByRole: Page['getByRole'] } = page) => {
    // Disabled buttons take no focus.
    await within.getByRole('button', { name, exact: true, disabled: false }).focus()
    await page.keyboard.press('Enter')
  }
  return {
    press,
    follow: async (name: string) => {
      await page.getByRole('link', { name, exact: true }).first().focus()
      await page.keyboard.press('Enter')
    },
    type: async (label: string, text: string) => {
      await page.getByLabel(label, { exact: true }).focus()
      await page.keyboard.press('Control+A')
      await page.keyboard.type(text)
    },
    /** Confirms a dialog after checking its text. */
    confirm: async (verb: string, output: RegExp, name?: string) => {
      const dialog = page.getByRole('dialog')
      await dialog.getByText(output).waitFor()
      if (name !== undefined) {
        await dialog.getByRole('textbox').focus()
        await page.keyboard.type(name)
      }
      await press(verb, dialog)
      await dialog.waitFor({ state: 'detached' })
    },
  }
}

describe.skipIf(!hasBrowser())('models and delivery in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('show what was trained and what devices run; axe finds nothing in light and dark mode, and nothing scrolls sideways', async () => {
    const { world, paths } = await startDelivered(webFolder)
    const tab = await openDashboard(world.baseUrl)
    const { page } = tab
    const main = page.getByRole('main')
    await page.clock.setFixedTime(world.now())
    const shows: readonly (readonly [path: string, texts: readonly (string | RegExp)[]])[] = [
      [paths.models!, ['my-model', 'vision']],
      [paths.model!, ['production', 'Upload', 'Round 3', 'rollout to 80%']],
      [paths.rollouts!, ['my-model 1.1.0', '80%, target 100%', /^2 of 3 reporting devices failed/]],
      [
        paths.rollout!,
        [
          'Now 80%,',
          / next 100% in 12 min if failures stay at 5% or less \(0\.0% now, \d+ reports?\)\./,
          'downloading',
        ],
      ],
      [paths.paused!, ['Paused at 100%.', 'Why devices failed', 'out of memory']],
      [paths.deployments!, ['vision 1.0.0', '3 of 3']],
      [paths.deployment!, ['downloading']],
      [paths.policies!, ['enabled', '25%']],
      [
        paths.policy!,
        [/^The result of a round goes to 25% of the devices/, 'canary', /^Inconclusive after 30 minutes/],
      ],
      [paths.groups!, ['canaries', 'In the lab']],
      [paths.group!, ['d0', 'd1', 'd2']],
      [paths.pairing!, ['Create a code']],
      [paths.outside!, ['hf:org/thing']],
      [
        paths.canary!,
        [/ Its policy promotes it or rolls it back within 30 min/, 'none: its policy promotes it or rolls it back'],
      ],
    ]
    for (const [path, texts] of shows) {
      await tab.visit(path)
      for (const text of texts) await main.getByText(text).first().waitFor()
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
    }
    await tab.visit(paths.outside!)
    await main.getByText('hf:org/thing', { exact: true }).waitFor()
    expect(await main.getByRole('link', { name: 'hf:org/thing' }).count()).toBe(0)
    await tab.visit('/delivery')
    await main.getByText('decided by its policy').waitFor()
    expect(tab.wrong()).toEqual([])
  })

  it('deploy a version by keyboard alone, state the number of devices first, and follow their reports', async () => {
    const { world, devices, tab, page, key } = await startFleet()
    const { press, follow, type, confirm } = keyboardOf(page)
    await follow('my-model')
    await press('Alias of 1.0.0')
    await type('Alias', 'production')
    await confirm('Set alias', /^my-model@production will point to version 1\.0\.0\./)
    await press('Alias of 2.0.0')
    await type('Alias', 'production')
    await expectAccessible(page)
    await confirm('Move production', /^my-model@production points to version 1\.0\.0 and will point to 2\.0\.0\./)
    await page.getByText('moved from 1.0.0 to 2.0.0').waitFor()
    const alias = 'a'.repeat(63)
    const at = `/api/v1/models/my-model/aliases/${alias}`
    expect((await world.request('PUT', at, { key, body: { version: '1.0.0' } })).status).toBe(200)
    await page.reload()
    const shown = page.getByRole('table', { name: 'Versions' }).getByText(alias, { exact: true })
    const ends = await shown.evaluate((one) =>
      [one, one.closest('td')!].map((box) => box.getBoundingClientRect().right),
    )
    expect(ends[0]).toBeLessThan(ends[1]!)
    // The open page shows what is recorded meanwhile.
    const metadata = { metadata: { dataset: '2026-11' } }
    await world.request('PATCH', '/api/v1/models/my-model/versions/1', { key, body: metadata })
    await press('Metadata of 1.0.0')
    await page.getByRole('dialog').getByText('2026-11').waitFor()
    await expectAccessible(page)
    await press('Close')

    expect((await world.request('DELETE', at, { key })).status).toBe(200)
    await press('Describe')
    await type('Description', 'Tells shapes apart')
    await expectAccessible(page)
    await press('Save')
    await page.getByText('Tells shapes apart', { exact: true }).waitFor()
    await press('Delete 1.0.0')
    await expectAccessible(page)
    await confirm('Delete', /^Its file is deleted/, '1.0.0')
    await page.getByText('1 version', { exact: true }).waitFor()

    await press('Deploy 2.0.0')
    await type('First, %', '50')
    await type('Step, %', '49')
    await type('Every, min', '10')
    await expectAccessible(page)
    await confirm('Start with about 2 devices', /^Reaches 4 devices/)
    await page.getByRole('heading', { name: 'my-model 2.0.0', level: 1 }).waitFor()
    await page.getByText(/^Now 50%,/).waitFor()

    await press('Advance')
    await confirm('Advance', /goes to 99% of the devices \(about 4 devices\)/)
    await page.getByText(/^Now 99%,/).waitFor()
    await press('Pause')
    await confirm('Pause', /keep version 2\.0\.0/)
    await page.getByText('Paused at 99%.').waitFor()
    await press('Resume')
    await confirm('Resume', /It continues at 99%/)
    await page.getByText(/^Now 99%,/).waitFor()

    const { rollouts } = (await world.request('GET', '/api/v1/rollouts', { key })).body as {
      rollouts: { rollout_id: string }[]
    }
    const { rollout_id: planId } = rollouts[0]!
    const reached = []
    for (const { device } of devices) {
      if (!(await device.assignments()).some((given) => given.planId === planId)) continue
      await device.reportAssignment(planId, { state: 'active', version: '2.0.0' })
      reached.push(device)
    }
    await page.getByText(`${reached.length} report`, { exact: false }).first().waitFor()
    const active = page.getByRole('table', { name: 'Devices' }).getByText('active')
    await expect.poll(() => active.count()).toBe(reached.length)
    await press('Roll back')
    await confirm('Roll back', new RegExp(`^${reached.length} devices? `), 'my-model 2.0.0')
    await page.getByText('Rolled back at 99%.').waitFor()
    const history = page.getByRole('region', { name: 'History' })
    await history.getByText('by a person or a key').first().waitFor()
    const plan = new URL(page.url()).pathname.split('/').at(-1)
    expect(await history.getByRole('link', { name: 'Audit log' }).getAttribute('href')).toBe(
      `/organization/audit?object=${plan}`,
    )
    expect(await reached[0]!.assignments()).toEqual([])
    // The page may request the deleted version once more, while it requests the list without it.
    expect(tab.wrong().filter((one) => !one.includes('404'))).toEqual([])
  })

  it('show where an old version still runs, and count only the devices that a rollout reaches now', async () => {
    const { world, devices, key, tab, page } = await startFleet()
    const send = async (method: string, path: string, body?: unknown) => {
      const response = await world.request(method, `/api/v1${path}`, { key, body })
      expect([200, 201], JSON.stringify(response.body)).toContain(response.status)
      return response.body as Readonly<Record<string, string>>
    }
    const group = await send('POST', '/device-groups', { org_id: 'default', name: 'lab' })
    await send('POST', `/device-groups/${group.id}/devices`, { device_ids: ['d0', 'd1', 'd2', 'd3'] })
    const old = { version: '1.0.0', rollout_percentage: 50, target_percentage: 60, group: 'lab' }
    const { model_id, rollout_id } = await send('POST', '/models/my-model/rollouts', old)
    await send('PUT', `/models/${model_id}/rollouts/${rollout_id}/percentage`, { percentage: 59 })
    for (let number = 3; number <= 7; number++) await uploadVersion(world, key, 'my-model', `${number}.0.0`)
    const draft = { version: '2.0.0', rollout_percentage: 10, start_immediately: false }
    const { rollout_id: first } = await send('POST', '/models/my-model/rollouts', draft)
    await copyRow(world, 'rollouts', { id: first!, count: 100, column: 'reason', prefix: 'copy ' })
    await tab.visit(`/models/${model_id}`)
    const lineage = page.getByRole('region', { name: 'Lineage' })
    const row = lineage.getByRole('listitem').filter({ hasText: /^Upload1\.0\.0/ })
    await row.getByRole('link', { name: 'rollout to 59%' }).waitFor()
    expect(await lineage.getByText('2.0.0', { exact: true }).count()).toBe(0)
    const variants = ['2.0.0', '7.0.0'].map((version) => ({ name: version, model_id, version, allocation: 0.5 }))
    const { id } = await send('POST', '/experiments', { name: 'old-or-new', variants })
    await send('POST', `/experiments/${id}/start`)
    const tried = lineage.getByRole('listitem').filter({ hasText: /^Upload2\.0\.0/ })
    await tried.getByRole('link', { name: 'experiment old-or-new, to 50%' }).waitFor({ timeout: 20_000 })
    await tab.visit(`/delivery/rollouts/${model_id}/${rollout_id}`)
    await page.getByRole('region', { name: 'Attention' }).getByRole('link', { name: 'old-or-new' }).waitFor()
    await send('POST', `/experiments/${id}/cancel`, { reason: 'done' })

    await send('PUT', `/models/${model_id}/rollouts/${rollout_id}/percentage`, { percentage: 100 })
    for (const { device } of devices) await device.reportAssignment(rollout_id!, { state: 'active', version: '1.0.0' })
    for (const device of ['d1', 'd2', 'd3']) await send('DELETE', `/device-groups/${group.id}/devices/${device}`)
    await page.getByText('It is completed: failures change nothing, but it can still be rolled back.').waitFor()
    await page.getByRole('img', { name: '1 active, 3 no longer reached', exact: true }).waitFor()
    expect(await page.getByRole('row').filter({ hasText: 'no longer reached' }).count()).toBe(3)
    const { press, confirm } = keyboardOf(page)
    await press('Roll back')
    await confirm('Roll back', /^1 device reached by this rollout will return/, 'my-model 1.0.0')
    await page.getByText('Rolled back at 100%.').waitFor()
    const health = page.getByRole('region', { name: 'Health' })
    expect(await health.getByText(/failures|waits for you/).count()).toBe(0)

    const fail = async (planId: string, version: string, count: number) => {
      for (const { device } of devices.slice(0, count))
        await device.reportAssignment(planId, { state: 'failed', version })
    }
    const { rollout_id: abandoned } = await send('POST', '/models/my-model/rollouts', old)
    await send('DELETE', `/device-groups/${group.id}/devices/d0`)
    await tab.visit(`/delivery/rollouts/${model_id}/${abandoned}`)
    await page.getByText('No device gets the version now.').nth(1).waitFor()
    await send('POST', `/models/my-model/rollouts/${abandoned}/rollback`, { reason: 'a person decided so' })
    await health.getByText(/^0 reports, 0 failed, counted over /).waitFor()
    const withdrawn = { version: '2.0.0', rollout_percentage: 100, auto_rollback: true }
    await fail((await send('POST', '/models/my-model/rollouts', withdrawn)).rollout_id!, '2.0.0', 3)
    const deploy = (model_version: string) =>
      send('POST', '/deploy/execute', { model_name: 'my-model', model_version, devices: ['d0'] })
    await fail((await deploy('3.0.0')).deployment_id!, '3.0.0', 1)
    await deploy('4.0.0')
    await tab.visit('/')
    const attention = page.getByRole('region', { name: 'Needs attention' })
    await attention.getByText(/^3 of 3 reporting devices failed/).waitFor()
    expect(await attention.getByRole('link').allTextContents()).toEqual([
      'Rollout of my-model 2.0.0',
      'Deployment of my-model 3.0.0',
    ])
    const running = page.getByRole('region', { name: 'Running now' })
    await running.getByRole('link', { name: 'Deployment of my-model 4.0.0' }).waitFor()
    expect(tab.wrong()).toEqual([])
  })

  it('create groups, policies, and pairing codes by keyboard alone', async () => {
    const { world, devices, tab, page } = await startFleet()
    const { press, follow, type, confirm } = keyboardOf(page)
    await page.getByRole('link', { name: 'my-model' }).waitFor()
    for (const typed of ['g', 'l']) await page.keyboard.press(typed)
    await follow('Groups')
    await press('Create group')
    await type('Name', 'canaries')
    await confirm('Create', /Description/)
    await follow('canaries')
    // Neither in the group's organization nor offered.
    const ofOther = { device_id: 'd2', org_id: 'other' }
    expect((await world.request('POST', '/api/v1/devices/register', { body: ofOther })).status).toBe(201)
    await press('Add devices')
    await type('Search devices', 'd2')
    const choices = page.getByRole('dialog').getByRole('checkbox')
    await expect.poll(() => choices.count()).toBe(1)
    await choices.focus()
    await page.keyboard.press('Space')
    await expectAccessible(page)
    await confirm('Add 1 device', /^d2$/)
    await page.getByRole('table', { name: 'Members' }).getByRole('link', { name: 'd2' }).waitFor()
    await press('Add devices')
    await type('Search devices', 'd2')
    await choices.focus()
    await page.keyboard.press('Space')
    await press('Add 1 device')
    await page.getByRole('alert').getByText('Not added: d2. Already in the group').waitFor()
    await press('Cancel')
    await press('Remove d2')
    await confirm('Remove', /stays registered/)
    await page.getByText('No device is in this group').waitFor()

    await tab.visit('/delivery/groups')
    await press('Create group')
    await type('Name', 'matching')
    await type('Conditions', 'platfrom=linux')
    await press('Create')
    await page.getByRole('alert').getByText('Conditions: platfrom=linux: Did you mean platform?').waitFor()
    await type('Conditions', 'platform=unknown and device_id^=d and !gpu')
    await confirm('Create', /exactly the devices that meet them/)
    await follow('matching')
    const members = page.getByRole('table', { name: 'Members' }).getByRole('link')
    await expect.poll(() => members.count()).toBe(devices.length)
    await press('Change conditions')
    expect(await page.getByLabel('Conditions', { exact: true }).inputValue()).toBe(
      'platform=unknown and device_id^=d and !gpu',
    )
    await type('Conditions', 'device_id in (d0, d1)')
    await confirm('Change', /exactly the devices that meet them/)
    await expect.poll(() => members.count()).toBe(2)
    await page.getByText('All with device_id in (d0, d1)').waitFor()

    const { key } = devices[0]!
    const send = async (method: string, path: string, body?: unknown) =>
      (await world.request(method, `/api/v1${path}`, { key, body })).body as Readonly<Record<string, string>>
    const rollout = { version: '2.0.0', rollout_percentage: 10, start_immediately: false, group: 'canaries' }
    const { model_id, rollout_id, group_id } = await send('POST', '/models/my-model/rollouts', rollout)
    await tab.visit(`/delivery/rollouts/${model_id}/${rollout_id}`)
    await page.getByRole('link', { name: 'canaries' }).waitFor()
    await expect.poll(() => page.getByText('Devices get the version after it starts.').count()).toBe(2)
    expect(await page.getByRole('list', { name: 'Stages' }).getByRole('listitem').first().textContent()).toMatch(
      /^10%next/,
    )
    await send('DELETE', `/device-groups/${group_id}`)
    await page.getByText('a deleted group: no device gets the version').waitFor()

    await tab.visit('/delivery/policies/my-model')
    await press('Set a policy')
    await type('Canary, % of devices', '')
    await page.keyboard.press('Delete')
    await page.getByText('goes to some of the devices first').waitFor()
    await type('Canary, % of devices', '50')
    await expectAccessible(page)
    await confirm('Save', /about 3 devices first/)
    await page.getByText('enabled').first().waitFor()
    await send('PUT', '/models/my-model/policy', { metric_margins: { f1: 0.02, latency_ms: 0.1 } })
    await page
      .getByText(
        / the loss by at most 5\.0%, to lose at most 0\.0200 of f1, and to increase latency_ms by at most 10\.0%; /,
      )
      .waitFor()
    const group = await send('POST', '/device-groups', { org_id: 'default', name: 'early' })
    await send('PUT', '/models/my-model/policy', { enabled: true, canary_group: 'early' })
    await page.getByText(/goes to 10% of the canary group/).waitFor()
    await send('DELETE', `/device-groups/${group.id}`)
    await page.getByText(/^The canary group was deleted: no result is tried/).waitFor()
    await page.getByText('enabled, with a warning', { exact: true }).waitFor()
    await press('Change')
    const canary = page.getByLabel('Canary group')
    expect(await canary.locator('option:checked').textContent()).toBe('Deleted group')
    await page.getByText('goes to about 0 devices of the canary group first').waitFor()
    await canary.selectOption('Every device')
    await confirm('Save', /about 1 device first/)
    await page.getByText(/goes to 10% of the devices/).waitFor()
    expect(await page.getByText(/^The canary group was deleted/).count()).toBe(0)
    await press('Delete')
    await confirm('Delete', /no device changes its version/, 'my-model')
    await page.getByText('This model has no policy').waitFor()

    const { api_key } = await send('POST', '/keys', { name: 'other', org_id: 'other', scopes: ['models:write'] })
    const named = await world.request('POST', '/api/v1/models', { key: api_key!, body: { name: 'my-model' } })
    await send('POST', '/device-groups', { org_id: 'other', name: 'others' })
    await tab.visit(`/delivery/policies/${(named.body as { id: string }).id}`)
    await press('Set a policy')
    await page.getByText('goes to about 0 devices first').waitFor()
    await expect.poll(() => canary.locator('option').allTextContents()).toEqual(['Every device', 'others (0)'])
    await press('Cancel')

    // Models of one name are shown with their organizations; where a name is typed, only the id says which.
    await uploadVersion(world, api_key!, 'my-model', '1.0.0')
    await tab.visit('/training')
    await press('Start training')
    const suggested = page.locator('#trainable-models option')
    await expect.poll(() => suggested.count()).toBe(2)
    const [theirs] = await suggested.evaluateAll((all) =>
      all.map((one) => [one.getAttribute('value'), one.textContent]),
    )
    expect(theirs).toEqual([(named.body as { id: string }).id, 'my-model (other)'])
    await tab.visit('/delivery/pairing')
    await page.getByLabel('Model to send').selectOption('my-model (other)')
    await press('Create a code')
    const code = await page.getByText(/^[0-9A-Z]{4}-[0-9A-Z]{4}$/).textContent()
    await page.getByRole('img', { name: new RegExp(`/pair\\?code=${code}$`) }).waitFor()
    await page.getByText(`svc agent --join ${code}@${world.baseUrl}`, { exact: true }).waitFor()
    await expectAccessible(page)
    const claimed = await world.request('POST', '/api/v1/pairings/claim', { body: { code, device_id: 'phone' } })
    expect(claimed).toMatchObject({ status: 200, body: { org_id: 'other' } })
    await page.getByText('phone is paired and will get my-model 1.0.0.').waitFor()
    const ownPage = page.getByRole('link', { name: 'The device’s page' })
    expect(await ownPage.getAttribute('href')).toBe('/devices/phone?org=other')
    // The browser itself logs the missing policy that the page requests first.
    expect(tab.wrong().filter((problem) => !problem.includes('404'))).toEqual([])
  })
})
