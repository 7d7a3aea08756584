import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createModel } from '../fleet-of-models.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

/** Twenty devices, and a model with two versions. */
const startFleet = async () => {
  const world = await startWorld({ webFolder })
  const devices = await Promise.all(Array.from({ length: 20 }, (_, n) => world.register(`d${n}`)))
  const { key } = devices[0]!
  await createModel(world, key, 'my-model', ['1.0.0', '2.0.0'])
  const ask = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await world.request(method, `/api/v1/experiments${path}`, { key, body })
    expect(response.status).toBe(200)
    return response.body as Answer
  }
  return { world, devices, ask }
}

const pressIn = (within: Page | Locator, name: string): Promise<void> =>
  within.getByRole('button', { name, exact: true }).press('Enter')

describe.skipIf(!hasBrowser())('experiments in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('are created, started, and completed by keyboard, show estimates with intervals and the decision, are named before a rollout that does not reach their devices, and name the newer rollout that has replaced them', async () => {
    const { world, devices, ask } = await startFleet()
    const tab = await openDashboard(world.baseUrl, '/experiments')
    const { page } = tab
    await page.clock.setFixedTime(world.now())
    await page.getByText('No experiments yet').waitFor()
    await page.getByRole('button', { name: 'Copy command' }).waitFor()

    await pressIn(page, 'Create experiment')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('next-word')
    await dialog.getByLabel('Version 1').fill('1.0.0')
    await dialog.getByLabel('Version 2').fill('2.0.0')
    await dialog.getByLabel('Share 1, %').fill('60')
    await dialog.getByText('The shares sum to 110%').waitFor()
    await dialog.getByLabel('Share 1, %').fill('')
    await dialog.getByText('No device gets a variant until the experiment is started.').waitFor()
    await dialog.getByLabel('Share 1, %').fill('50')
    await dialog.getByText('Of 20 devices: control about 10, treatment about 10.').waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('Name', { exact: true }).press('Enter')
    await page.getByRole('heading', { name: 'next-word', level: 1 }).waitFor()

    await pressIn(page, 'Start')
    await dialog.getByText('About 20 devices will get their variant with their next heartbeat').waitFor()
    await pressIn(dialog, 'Start')
    await page.getByText('Nothing to compare yet').waitFor()

    const id = page.url().split('/').at(-1)!
    const { deviceId: first } = devices[0]!
    await ask('POST', `/${id}/observations`, { device_id: first, metrics: { battery: 0.5 } })
    const observations = []
    for (const [n, { deviceId }] of devices.entries()) {
      const { variant } = await ask<{ variant: string }>('GET', `/${id}/assignment?device_id=${deviceId}`)
      const accuracy = (variant === 'control' ? 0.5 : 0.9) + n / 1000
      observations.push({ device_id: deviceId, metrics: { accuracy, loss: 1 - accuracy } })
    }
    await ask('POST', `/${id}/observations`, { observations: observations.slice(0, 10) })
    await world.service.runDueTasks()
    await world.advance(60)
    await ask('POST', `/${id}/observations`, { observations: observations.slice(10) })

    await page.getByText('treatment is better').waitFor()
    await page.getByText(/^treatment has a higher accuracy than control, by 0\.[34]/).waitFor()
    await page
      .getByText(/^\d+, \d+\.\d% \(allocated 50\.0%\)$/)
      .first()
      .waitFor()
    await page.getByRole('img', { name: /^accuracy by time\. control: 0\.5\d+ at .*; treatment: 0\.9/ }).waitFor()
    // In the order, and thus the colors, of the variants.
    await page
      .getByRole('img', { name: /^Difference of accuracy by time\. no difference: 0.*; treatment: 0\./ })
      .waitFor()
    await page.getByRole('table', { name: 'Comparisons' }).getByText('decided', { exact: true }).waitFor()
    await page.getByLabel('Metric').selectOption('battery')
    await page.getByText(/^Only one device of variant '(control|treatment)' has reported 'battery'/).waitFor()
    await page.getByLabel('Metric').selectOption('accuracy')
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)

    await pressIn(page, 'Complete')
    await dialog.getByText('About 20 devices will return to the version they have without the experiment.').waitFor()
    await dialog.getByLabel('Reason').fill('treatment wins')
    await dialog.getByLabel('Type next-word to confirm').fill('next-word')
    await dialog.getByLabel('Type next-word to confirm').press('Enter')
    await page.getByText('How it ended').waitFor()
    await page.getByText('treatment wins').waitFor()

    await page.getByRole('link', { name: 'Experiments', exact: true }).first().click()
    await page.getByRole('table', { name: 'Experiments' }).getByText('control 50%, treatment 50%').waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    expect(tab.wrong()).toEqual([])

    const [{ key }] = devices as [(typeof devices)[0]]
    const variant = (version: string) => ({ name: `v${version[0]}`, model_id: 'my-model', version, allocation: 0.5 })
    const body = { name: 'next-phrase', variants: [variant('1.0.0'), variant('2.0.0')] }
    const created = await world.request('POST', '/api/v1/experiments', { key, body })
    await ask('POST', `/${(created.body as { id: string }).id}/start`)
    await tab.visit('/models')
    await page.getByRole('link', { name: 'my-model' }).click()
    await pressIn(page, 'Deploy')
    const warning = page.getByRole('dialog').getByText('Running experiments take precedence on their devices')
    await warning.getByRole('link', { name: 'next-phrase' }).waitFor()

    const everywhere = { version: '1.0.0', rollout_percentage: 100 }
    await world.request('POST', '/api/v1/models/my-model/rollouts', { key, body: everywhere })
    await world.advance(3600)
    await tab.visit('/experiments')
    const cut = page.getByText(/^Experiment 'next-phrase': No device gets 'v1', 'v2': the newer rollout /)
    await cut.getByRole('link', { name: 'of my-model' }).waitFor()
  })
})
