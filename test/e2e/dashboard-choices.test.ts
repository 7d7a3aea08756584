import type { Route } from 'playwright-core'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { createModel } from '../fleet-of-models.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { openDashboard } from './dashboard-tab.ts'

// Service and browser start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 90_000 })

let webFolder = ''

const FIRST_PAGE = '**/api/v1/models?*offset=0&*'
const SECOND_PAGE = '**/api/v1/models?*offset=100&*'

const refuse = (route: Route): Promise<void> =>
  route.fulfill({ status: 429, json: { error: 'rate_limited', message: 'Too many requests.', status_code: 429 } })

const startWithModels = async (count: number) => {
  const world = await startWorld({ webFolder })
  const { key } = await world.register('d0')
  const call = (method: string, path: string, body?: object) => world.request(method, `/api/v1${path}`, { key, body })
  for (let index = 0; index < count; index++) {
    expect((await call('POST', '/models', { name: `model-${index}` })).status).toBe(201)
  }
  return { world, key, call }
}

describe.skipIf(!hasBrowser())('a choice of models', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('offers all of them, each once', async () => {
    const { world } = await startWithModels(120)
    const { page } = await openDashboard(world.baseUrl, '/organization')
    // A model added between the requests moves another one to the second page.
    await page.route(SECOND_PAGE, async (route) => {
      const response = await route.fetch()
      const body = await response.json()
      const [first] = (await (await page.request.get(`${world.baseUrl}/api/v1/models?limit=1`)).json()).models
      await route.fulfill({ response, json: { ...body, models: [first, ...body.models] } })
    })
    await page.goto(`${world.baseUrl}/delivery/policies`)
    const models = page.getByLabel('Set a policy for a model')
    await expect.poll(() => models.locator('option').count()).toBe(121)
    await models.selectOption({ label: 'model-0' })
    await page.getByRole('heading', { name: 'Policy for model-0' }).waitFor()
  })

  it('offers those that could be loaded, and says so if none could', async () => {
    const { world } = await startWithModels(120)
    const { page } = await openDashboard(world.baseUrl, '/organization')
    await page.route(SECOND_PAGE, refuse)
    await page.goto(`${world.baseUrl}/delivery/policies`)
    await page.getByText('Only the newest 100 models are listed.').waitFor()
    const models = page.getByLabel('Set a policy for a model')
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
    const { world, key, call } = await startWithModels(3)
    const { page } = await openDashboard(world.baseUrl, '/organization')
    let requested = 0
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/models?')) requested++
    })
    await page.goto(`${world.baseUrl}/delivery/policies`)
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
      await call('PUT', `/models/${name}/policy`, { enabled: true })
      await page.getByRole('cell', { name, exact: true }).waitFor()
    }
    expect(requested).toBe(before)
    await createModel(world, key, 'new', ['1.0.0'])
    await expect.poll(() => page.getByLabel('Set a policy for a model').locator('option').count()).toBe(5)
    expect(requested).toBeGreaterThan(before)
  })
})
