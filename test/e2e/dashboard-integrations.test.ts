import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

let webFolder = ''

/** Responds to every request with the current status in `state`. */
const startReceiver = async () => {
  const state = { status: 204 }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(state.status).end(state.status === 204 ? undefined : 'not like this')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }
}

describe.skipIf(!hasBrowser())('integrations in the dashboard', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
  })

  it('are created with a form for their type, tested, and paused; their dead letters are replayed', async () => {
    const world = await startWorld({ webFolder })
    const receiver = await startReceiver()
    const { page, wrong, visit } = await openDashboard(world.baseUrl, '/integrations')
    await page.getByText('No integrations yet').waitFor()
    await page.getByRole('button', { name: 'Create integration' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Receiver').selectOption('splunk')
    await dialog.getByLabel('Token').waitFor()
    await dialog.getByLabel('Receiver').selectOption('webhook')
    await dialog.getByLabel('Name', { exact: true }).fill('hook')
    await dialog.getByLabel('Endpoint').fill('http://user:secret@127.0.0.1/hook')
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await dialog
      .getByRole('alert')
      .getByText(/^Endpoint: must not contain a password/)
      .waitFor()
    expect(await dialog.getByLabel('Endpoint').getAttribute('aria-invalid')).toBe('true')
    await expectAccessible(page)
    await dialog.getByLabel('Endpoint').fill(receiver.url)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('It is shown only once.').waitFor()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('heading', { name: 'hook', level: 1 }).waitFor()

    await page.getByRole('button', { name: 'Send a sample' }).click()
    await page.getByText(/^Accepted with 204 after/).waitFor()
    receiver.state.status = 422
    await page.getByRole('button', { name: 'Send a sample' }).click()
    await page.getByText(/^Not accepted with 422 .* not like this$/).waitFor()

    const { key } = await world.register('laptop')
    await world.request('POST', '/api/v1/models', { key, body: { name: 'm' } })
    await world.request('POST', '/api/v1/federations', { key, body: { name: 'f', org_id: 'acme' } })
    // Each pass moves one event to the dead letters.
    for (let pass = 0; pass < 4; pass++) await world.advance(2)
    await page.getByRole('region', { name: 'Dead letters' }).getByText('The receiver returned 422').first().waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    receiver.state.status = 204
    await page.getByRole('button', { name: 'Replay dead letters' }).click()
    await page.getByText(/events? delivered, 0 left\.$/).waitFor()
    // Otherwise the buttons move between the clicks.
    await page.getByRole('button', { name: 'Replay dead letters' }).waitFor({ state: 'hidden' })
    receiver.state.status = 503
    await world.request('POST', '/api/v1/models', { key, body: { name: 'n' } })
    await world.advance(2)
    await visit('/')
    await page.getByRole('region', { name: 'Needs attention' }).getByText('The receiver returned 503').waitFor()
    await page.getByRole('link', { name: 'Integration hook' }).click()
    receiver.state.status = 204
    // The second click of a double click does not resume it.
    await page.getByRole('button', { name: 'Pause' }).dblclick({ delay: 100 })
    await page.getByText('Paused: events are kept for 24 hours.').waitFor()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No integrations yet').waitFor()
    await visit('/integrations/00000000-0000-4000-8000-000000000000')
    await page.getByRole('alert').waitFor()
    expect(await page.title()).toBe('Integration · Tributary')
    await expectAccessible(page)
    await page.getByRole('link', { name: '← Integrations' }).click()
    await page.getByText('No integrations yet').waitFor()
    expect(wrong().filter((problem) => !/400 \(Bad Request\)|404 \(Not Found\)/.test(problem))).toEqual([])
  })
})
