import type { Route } from 'playwright-core'
import { beforeAll, describe, expect, it } from 'vitest'
import { createModel } from '../fleet-of-models.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { openDashboard } from './dashboard-tab.ts'
import { copyRow } from './row-copies.ts'

let webFolder = ''

const FIRST_PAGE = '**/api/v1/models?*offset=0&*'
const SECOND_PAGE = '**/api/v1/models?*offset=100&*'

const refuse = (route: Route): Promise<void> =>
  route.fulfill({ status: 429, json: { error: 'rate_limited', message: 'Too many requests.', status_code: 429 } })

/** A service with the models model-0, model-1, and so on. */
const startWithModels = async (count: number) => {
  const world = await startWorld({ webFolder })
  const { key } = await world.register('d0')
  const id = await createModel(world, key, 'model-0')
  await copyRow(world, 'models', { id, count: count - 1, column: 'name', prefix: 'model-' })
  return { world, key }
}

describe.skipIf(!hasBrowser())('a choice of models', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('offers all of them, each once, or else those that could be loaded, and says so if none could', async () => {
    const { world } = await startWithModels(120)
    const { page, visit } = await openDashboard(world.baseUrl, '/organization')
    // A model added between the requests moves another one to the second page.
    await page.route(SECOND_PAGE, async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      const [first] = (await (await page.request.get(`${world.baseUrl}/api/v1/models?limit=1`)).json()).models
      await route.fulfill({ response, json: { ...body, models: [first, ...body.models] } })
    })
    await visit('/delivery/policies')
    const models = page.getByLabel('Set a policy for a model')
    await expect.poll(() => models.locator('option').count()).toBe(121)
    await models.selectOption({ label: 'model-0' })
    await page.getByRole('heading', { name: 'Policy for model-0' }).waitFor()

    await page.unroute(SECOND_PAGE)
    await page.route(SECOND_PAGE, refuse)
    await page.goto(`${world.baseUrl}/delivery/policies`)
    await page.getByText('Only the newest 100 models are listed.').waitFor()
    expect(await models.locator('option').count()).toBe(101)

    await page.route(FIRST_PAGE, refuse)
    await page.goto(`${world.baseUrl}/experiments`)
    await page.getByRole('button', { name: 'Create experiment' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('alert').getByText('Too many requests.').waitFor()
    expect(await dialog.getByText('There is no model').count()).toBe(0)
    await page.unroute(FIRST_PAGE)
    await page.unroute(SECOND_PAGE)
    await dialog.getByRole('button', { name: 'Try again' }).click()
    await expect.poll(() => dialog.getByLabel('Model').first().locator('option').count()).toBe(120)
    expect(await dialog.getByRole('alert').count()).toBe(0)
  })

  it('is loaded again only for events of models', async () => {
    const { world, key } = await startWithModels(3)
    const { page, visit } = await openDashboard(world.baseUrl, '/organization')
    let requested = 0
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/models?')) requested++
    })
    await visit('/delivery/policies')
    await page.locator('[data-mode=live]').waitFor()
    await expect.poll(() => page.getByLabel('Set a policy for a model').locator('option').count()).toBe(4)
    // The stream makes the page fetch everything again when it opens.
    await expect
      .poll(async () => {
        const before = requested
        await page.waitForTimeout(1000)
        return requested - before
      })
      .toBe(0)
    const before = requested
    for (const name of ['model-0', 'model-1']) {
      await world.request('PUT', `/api/v1/models/${name}/policy`, { key, body: { enabled: true } })
      await page.getByRole('cell', { name, exact: true }).waitFor()
    }
    expect(requested).toBe(before)
    await createModel(world, key, 'new', ['1.0.0'])
    await expect.poll(() => page.getByLabel('Set a policy for a model').locator('option').count()).toBe(5)
    expect(requested).toBeGreaterThan(before)
  })
})
