import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  openStarter,
  STARTER,
  serveForTest,
  type TestInference,
} from '../../src/inference/api/test-inference.fixture.ts'
import type { Engine } from '../../src/inference/engines/engine.ts'
import { startWorld } from '../world.ts'
import { hasBrowser } from './browser.ts'
import { buildDashboard } from './built-web.ts'
import { expectAccessible, expectNoSidewaysScroll, openDashboard } from './dashboard-tab.ts'

const QUESTION = 'What is the capital of France?'
const ANSWER = 'The capital of France is Paris.'

let webFolder = ''
let engine: Engine
let server: TestInference

/** An embedding server with known vectors, and with `usage` in its responses. Its chat names a model that is not encoded. */
const startEmbedder = async (usage: object) => {
  const state = { usage }
  const other = createServer((request, response) => {
    const list = { object: 'list', data: [{ id: 'embedder' }], model: 'embedder' }
    const data = [
      [1, 0],
      [1, 1],
      [0, -1],
    ].map((embedding, index) => ({ object: 'embedding', index, embedding }))
    if (request.url?.includes('/chat/')) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-service-routed-model': '100%' })
      const chunk = { id: '1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hello!' } }] }
      return response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`)
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify(request.method === 'GET' ? list : { ...list, data, ...state.usage }))
  })
  await new Promise<void>((done) => other.listen(0, '127.0.0.1', done))
  onTestFinished(() => void other.close())
  const close = () => {
    other.close()
    other.closeAllConnections()
  }
  return { state, url: `http://127.0.0.1:${(other.address() as AddressInfo).port}`, close }
}

const open = async (inferenceUrl: string | null, path = '/playground') => {
  const world = await startWorld({ webFolder, config: { inferenceUrl } })
  return openDashboard(world.baseUrl, path)
}

describe.skipIf(!hasBrowser())('the playground', () => {
  beforeAll(async () => {
    webFolder = await buildDashboard()
    engine = await openStarter({ path: STARTER })
    server = await serveForTest(engine)
  })
  afterAll(async () => {
    await server?.close()
    await engine?.close()
  })

  it('chats with two models side by side by keyboard, shows time and speed, and stops a reply, including its generation on the server', async () => {
    const { page, wrong, visit } = await open(server.url)
    await page.getByLabel('Compare with').selectOption('starter')
    await page.getByLabel('Temperature').fill('0')
    await page.getByLabel('Message').fill(QUESTION)
    await page.getByLabel('Max tokens').fill('')
    await page.getByRole('alert').getByText('Max tokens must be a whole number').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await page.getByLabel('Max tokens').fill('256')
    await page.getByLabel('Message').focus()
    await page.keyboard.press('Enter')
    const sides = ['Chat with starter', 'Second chat with starter'].map((name) =>
      page.getByRole('log', { name, exact: true }),
    )
    for (const side of sides) {
      await side.getByText(ANSWER, { exact: true }).waitFor()
      await side.getByText(/^first token after /).waitFor()
      await side.getByText(/ tokens\/s$/).waitFor()
      await side.getByText(/^prompt \d+/).waitFor()
    }
    expect(new URL(page.url()).search).toBe('?beside=starter&temperature=0')
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    expect(await page.getByText(ANSWER).count()).toBe(0)

    await visit('/playground/embeddings')
    await page.getByRole('button', { name: 'Compare' }).waitFor()
    await visit('/playground?tokens=100000')
    await page.getByLabel('Message').fill('Tell me a story about everything.')
    await page.route('**/chat/completions', async (route) => {
      const body = { ...route.request().postDataJSON(), response_format: NUMBERS }
      await route.continue({ postData: JSON.stringify(body) })
    })
    await page.getByRole('button', { name: 'Send' }).click()
    await server.until('inference_places_busy{model="starter"}', 1)
    await page
      .getByText(/\d, ?\d/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('Stopped.').waitFor()
    await server.until('inference_places_busy{model="starter"}', 0)
    expect(wrong()).toEqual([])
  })

  it('explains how to set a server up', async () => {
    const { page, wrong } = await open(null)
    await page.getByText('SERVICE_INFERENCE_URL=http://127.0.0.1:8080 svc up').waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    expect(wrong()).toEqual([])
  })

  it('compares texts by their embeddings, and explains that the server cannot be reached', async () => {
    const embedder = await startEmbedder({ usage: { prompt_tokens: 12 } })
    const { page, wrong, visit } = await open(embedder.url, '/playground/embeddings')
    await page.getByRole('button', { name: 'Compare' }).click()
    const rows = page.getByRole('region', { name: 'Similarity of the texts' }).getByRole('row')
    await rows.nth(1).waitFor()
    const cells = await rows.nth(1).getByRole('cell').allTextContents()
    expect(cells).toEqual(['1.000', '0.707', '0.000'])
    await page.getByText('2 dimensions, 12 tokens').waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    expect(wrong()).toEqual([])

    embedder.state.usage = {}
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText(/^2 dimensions, [\d.]+ m?s$/).waitFor()
    await visit('/playground')
    await page.getByLabel('Message').fill('Hello')
    await page.keyboard.press('Enter')
    await page.getByText('routed to 100%').waitFor()
    embedder.close()
    await page.getByLabel('Message').fill('Hello again')
    await page.keyboard.press('Enter')
    await page.getByText(/cannot be used: nothing listens there/).waitFor()
  })
})

/** A reply of thousands of tokens. */
const NUMBERS = {
  type: 'json_schema',
  json_schema: { name: 'numbers', schema: { type: 'array', items: { type: 'integer' }, minItems: 1000 } },
}
