import { beforeAll, describe, expect, it } from 'vitest'
import { openFederation } from '../../src/control/federations/federation.fixture.ts'
import { initialModel } from '../../src/sdk/trainers/dense-network.ts'
import { encodeModel } from '../../src/sdk/trainers/weights-codec.ts'
import { formOf, startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

const WEIGHTS = encodeModel(initialModel({ features: 3, classes: 2, hidden: [], seed: 1 }), new Map())

/** A federation of acme, beta, and tiny, whose devices reported their battery and took part in one private round. */
const startFederation = async () => {
  const world = await startWorld({ webFolder })
  const devices = []
  for (const [org_id, size] of [
    ['acme', 6],
    ['beta', 5],
    ['tiny', 2],
  ] as const) {
    for (let n = 0; n < size; n++) devices.push(await world.register(`${org_id}-${n}`, { org_id }))
  }
  const { key } = devices[0]!
  const send = async <Answer>(method: string, path: string, body?: unknown, as = key): Promise<Answer> => {
    const response = await world.request(method, `/api/v1${path}`, { key: as, body })
    expect([200, 201], JSON.stringify(response.body)).toContain(response.status)
    return response.body as Answer
  }
  for (const [n, { deviceId, key: own }] of devices.entries()) {
    await send('PUT', `/devices/${deviceId}/heartbeat`, { metrics: { battery: n / 10 } }, own)
  }
  const { id } = await send<{ id: string }>('POST', '/federations', { name: 'hospitals', org_id: 'acme' })
  for (const org_id of ['beta', 'tiny']) await send('POST', `/federations/${id}/join`, { org_id })
  const model = await send<{ id: string }>('POST', '/models', { name: 'scanner' })
  await send('POST', `/models/${model.id}/versions/upload`, formOf(WEIGHTS, {}, 'model.safetensors'))
  await send('PUT', `/federations/${id}/privacy/budget`, { total_epsilon_budget: 3 })
  const round = await send<{ id: string }>('POST', '/training/rounds/start', {
    target_devices: devices.length,
    min_devices: devices.length,
    global_model_id: 'scanner',
    federation: id,
    privacy: { noise_multiplier: 8, clip_norm: 1 },
  })
  for (const { key: own } of devices) {
    const form = formOf(WEIGHTS, { num_samples: 10 }, 'model.safetensors')
    await send('POST', `/training/rounds/${round.id}/updates`, form, own)
  }
  await world.service.runDueTasks()
  return { world, id, send }
}

describe.skipIf(!hasBrowser())('federations in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('show the results of queries, which groups are withheld, members, the budget with its forecast, and shared models; invite and remove organizations', async () => {
    const { world, id } = await startFederation()
    const tab = await openDashboard(world.baseUrl, `/federations/${id}/analytics`)
    const { page } = tab
    await page.clock.setFixedTime(world.now())
    await page.getByText('No queries yet').waitFor()
    const runQuery = page.getByRole('button', { name: 'Run query' })
    await page.getByRole('combobox', { name: 'Variable' }).fill('battery')
    await runQuery.click()
    await page.getByText("Group 'tiny' is withheld: fewer than 5 devices report 'battery'.").waitFor()
    await page.getByRole('img', { name: /^acme: 0\.0000 to 0\.5000, median 0\.2500, quartiles/ }).waitFor()
    await page.getByRole('img', { name: /^beta: quarters of the devices, bounded by 0\.6000, 0\.7000/ }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)

    await page.getByRole('combobox', { name: 'Query' }).selectOption('Compare two groups')
    await runQuery.click()
    await page.getByRole('img', { name: /^Difference -0\.55\d+, -0\.\d+ to -0\.\d+$/ }).waitFor()
    await page.getByText('significant', { exact: true }).waitFor()
    await expectAccessible(page)

    await page.getByRole('combobox', { name: 'Query' }).selectOption('Compare all groups')
    await runQuery.click()
    await page.getByRole('table', { name: 'Pairs' }).getByText('acme minus beta').waitFor()
    await page.getByRole('combobox', { name: 'Query' }).selectOption('Test two variables for independence')
    await page.getByRole('combobox', { name: 'First variable' }).fill('platform')
    await runQuery.click()
    await page.getByRole('region', { name: 'Pearson’s chi-square test' }).waitFor()
    await page.getByRole('button', { name: 'Show Description of battery' }).click()
    await page.getByRole('table', { name: 'Groups' }).waitFor()

    await tab.visit('/federations')
    await page.getByRole('table', { name: 'Federations' }).getByRole('link', { name: 'hospitals' }).click()
    const members = page.getByRole('table', { name: 'Members' })
    await members.getByText('tiny', { exact: true }).waitFor()
    await page.getByText(/^ε 0\.\d+ of 3\.0000 spent$/).waitFor()
    const forecast = page.getByText(/ more rounds like this fit the budget\.$/)
    await forecast.waitFor()
    await page
      .getByRole('img', {
        name: /^Epsilon left by private round\. left: 2\.\d+ at private round 1; forecast: 0\.\d+ at/,
      })
      .waitFor()
    const rate = page.getByLabel('Sample rate')
    await rate.fill('2')
    await page.getByText('must be above 0, and the sample rate above 0 and at most 1.').waitFor()
    expect(await forecast.count()).toBe(0)
    await rate.fill('1e-12')
    await page.getByText('At least 10,000,000 more rounds like this fit the budget.').waitFor()
    // Estimates for so many rounds take a second each, and would be repeated after each change below.
    await rate.fill('1')
    await page.getByRole('table', { name: 'Shared models' }).getByText('round result').waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)

    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Invite' }).click()
    await dialog.getByLabel('Organizations', { exact: true }).fill('delta, epsilon labs, delta,')
    await dialog.getByText('delta, epsilon labs will see this federation').waitFor()
    await dialog.getByRole('button', { name: 'Invite 2 organizations' }).click()
    await members.getByText('invited').nth(1).waitFor()
    await page.getByRole('button', { name: 'Withdraw epsilon labs' }).click()
    await dialog.getByRole('button', { name: 'Withdraw' }).click()
    await members.getByText('epsilon labs', { exact: true }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remove tiny' }).click()
    await dialog.getByLabel('Type tiny to confirm').fill('tiny')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await members.getByText('tiny', { exact: true }).waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Set budget' }).click()
    await dialog.getByLabel('Epsilon').fill('5')
    await dialog.getByRole('button', { name: 'Set budget' }).click()
    await page.getByText(/ of 5\.0000 spent$/).waitFor()
    expect(page.url()).toContain(id)
    expect(tab.wrong()).toEqual([])
  })

  it('let a member only read a shared model, and ask nothing about a federation that only invites its organization', async () => {
    const { world, admin, send, keyOf, found } = await openFederation({ webFolder })
    const owner = await keyOf('acme')
    const id = await found(['beta'])
    const other = await found([], 'other')
    expect(await send(admin, 'POST', `/federations/${other}/invite`, { org_ids: ['beta'] })).toMatchObject({
      status: 200,
    })
    const shared = await send(owner, 'POST', '/models', { name: 'scanner' })
    await world.request('POST', `/api/v1/models/${shared.body.id}/versions/upload`, {
      key: owner,
      body: formOf(WEIGHTS, { version_label: '1.0.0' }, 'model.safetensors'),
    })
    await send(owner, 'POST', `/federations/${id}/models`, { model_id: shared.body.id })
    const tab = await openDashboard(world.baseUrl)
    const { page } = tab
    const budget = page.waitForResponse(`**/api/v1/federations/${id}/privacy`)
    await page.getByLabel('API key').fill(await keyOf('beta'))
    await page.keyboard.press('Enter')
    await budget
    await page.getByText('Nothing needs attention').waitFor()
    await tab.visit(`/models/${shared.body.id}`)
    for (const name of ['Deploy', 'Alias of 1.0.0', 'Deploy 1.0.0']) {
      const button = page.getByRole('button', { name, exact: true })
      expect(await button.getAttribute('title')).toBe(
        'This model belongs to acme, which shares it: beta can only read and download it.',
      )
      expect(await button.isDisabled()).toBe(true)
    }

    await world.request('POST', '/api/v1/models', { key: await keyOf('beta'), body: { name: 'scanner' } })
    await send(owner, 'POST', '/devices/register', { device_id: 'of-acme', platform: 'linux' })
    const start = { model: 'scanner@1.0.0', rounds: 2, target_devices: 1, min_devices: 1, federation: id }
    const job = await send(owner, 'POST', '/training/jobs', start)
    expect(job).toMatchObject({ status: 201 })
    expect(await send(owner, 'PUT', '/devices/of-acme/heartbeat', {})).toMatchObject({ status: 200 })
    await world.service.runDueTasks()
    const { rounds } = (await send(owner, 'GET', `/training/jobs/${job.body.id}/rounds`)).body as {
      rounds: { id: string }[]
    }
    for (const [path, verb] of [
      [`jobs/${job.body.id}`, 'stop it'],
      [`rounds/${rounds[0]!.id}`, 'cancel it'],
    ] as const) {
      await tab.visit(`/training/${path}`)
      const button = page.getByRole('button', { name: verb === 'stop it' ? 'Stop job' : 'Cancel round' })
      await button.waitFor()
      expect([await button.isDisabled(), await button.getAttribute('title')]).toEqual([
        true,
        expect.stringMatching(new RegExp(`^Only acme, which started the (job|round), can ${verb}\\.$`)),
      ])
    }
    await page.getByRole('cell', { name: 'of-acme' }).waitFor()
    expect(await page.getByRole('link', { name: 'of-acme' }).count()).toBe(0)
    await page.getByRole('link', { name: '← Job' }).click()
    const model = page.getByRole('link', { name: 'scanner 1.0.0' })
    expect(await model.getAttribute('href')).toBe(`/models/${shared.body.id}`)
    expect(tab.wrong()).toEqual([])

    await tab.visit(`/federations/${id}`)
    await page.getByRole('button', { name: 'Leave league' }).click()
    await page.getByLabel('Type league to confirm').waitFor()
    await page.keyboard.press('Escape')
    await tab.visit('/federations/00000000-0000-4000-8000-000000000000')
    await page.getByRole('alert').waitFor()
    expect([await tab.heading(), await page.title()]).toEqual(['Federation', 'Federation · Tributary'])
    await page.getByRole('link', { name: '← Federations' }).waitFor()
  })
})
