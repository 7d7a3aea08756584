import { once } from 'node:events'
import { createServer } from 'node:net'
import { dirname, join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { STARTER } from './api/test-inference.fixture.ts'
import { createInferenceServer, type InferenceSettings } from './compose.ts'
import { testEngines } from './engines/optional/test-engines.fixture.ts'
import { writeCalibration } from './runtime/routing/routing-file.ts'

const BIGGER = fileURLToPath(new URL('../../test/fixtures/models/tiny-chat-q8_0.gguf', import.meta.url))

const settings: Omit<InferenceSettings, 'models'> = {
  home: '/nowhere/svc',
  cwd: '/',
  env: {},
  host: '127.0.0.1',
  port: 0,
  threads: 1,
  cacheMegabytes: 16,
  version: '1.0.0',
  log: { level: 'silent' },
}

const start = async (options: Partial<InferenceSettings> & Pick<InferenceSettings, 'models'>) => {
  const server = await createInferenceServer({ ...settings, ...options })
  onTestFinished(() => server.close())
  const { port } = server.address
  const ask = async (model: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'user', content: 'What is the capital of France?' }],
        temperature: 0,
      }),
    })
    return { status: response.status, body: await response.json() }
  }
  return { server, ask, url: `http://127.0.0.1:${port}` }
}

const response = (model: string, content: string) => ({
  status: 200,
  body: expect.objectContaining({
    model,
    choices: [expect.objectContaining({ message: { role: 'assistant', content } })],
  }),
})

test('one call starts a server with one model, which answers and can be closed twice', async () => {
  const { server, ask, url } = await start({ models: [STARTER] })
  expect(await ask('starter')).toEqual(response('starter', 'The capital of France is Paris.'))
  expect(await ask(STARTER), 'by the name it was asked for').toEqual(
    response('starter', 'The capital of France is Paris.'),
  )
  expect((await ask('auto')).status, 'nothing is routed').toBe(404)
  expect(server.models.names).toEqual(['starter'])
  await server.close()
  await server.close()
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
})

test('further models are loaded on first use, and auto chooses among them', async () => {
  const { ask, url } = await start({ models: ['starter', BIGGER], autoRoute: true })
  const loaded = async () => ((await (await fetch(`${url}/health`)).json()) as { loaded: object[] }).loaded
  expect(await loaded()).toEqual([{ model: 'starter', engine: 'llama.cpp' }])
  expect(await ask('auto')).toEqual(response('starter', 'The capital of France is Paris.'))
  expect(await ask('tiny-chat-q8_0')).toEqual(response('tiny-chat-q8_0', 'The capital of France is Paris.'))
  expect(await loaded()).toHaveLength(2)
})

test('a model is unloaded after the idle time, and loaded again on request', async () => {
  const { ask, url } = await start({ models: [STARTER], unloadAfterMs: 50 })
  const loaded = async () => ((await (await fetch(`${url}/health`)).json()) as { loaded: object[] }).loaded
  await expect.poll(loaded).toEqual([])
  expect(await ask('starter')).toEqual(response('starter', 'The capital of France is Paris.'))
  await expect.poll(loaded).toEqual([])
  expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: 'starter' }] })
})

test('auto chooses among the models that chat, and needs two of them', async () => {
  const models = fileURLToPath(new URL('../../test/fixtures/models/', import.meta.url))
  const others = [
    join(models, 'tiny-embed/tiny-embed.gguf'),
    ...(testEngines === null ? [] : [join(models, 'tiny-bert'), join(models, 'tiny-whisper')]),
  ]
  const env = testEngines === null ? {} : { SERVICE_HOME: dirname(testEngines) }
  const { ask } = await start({ models: ['starter', BIGGER, ...others], autoRoute: true, env })
  expect(await ask('auto')).toEqual(response('starter', 'The capital of France is Paris.'))
  const tooFew = start({ models: ['starter', ...others], autoRoute: true, env })
  await expect(tooFew).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'models',
    message: `Routing needs at least two chat models. Not a chat model: ${others
      .map((path) => parse(path).name)
      .join(', ')}.`,
  })
})

test('a calibration is found by the files of its models, whatever their names', async () => {
  const home = await emptyFolder()
  const tiers = [
    { model: 'big:q8_0', path: BIGGER, upToScore: 0.5 },
    { model: 'small:q8_0', path: STARTER, upToScore: 1 },
  ]
  await writeCalibration(home, { prompts: 4, tiers }, new Date())
  const { server, ask } = await start({ models: ['starter', BIGGER], autoRoute: true, home })
  expect(server.models.calibrated).toBe(4)
  expect((await ask('auto')).body).toMatchObject({ model: 'tiny-chat-q8_0' })
})

test('a port in use is detected before a model is looked up', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as { port: number }
  await expect(createInferenceServer({ ...settings, models: ['nothing'], port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  })
})

test('two models with the same name are refused', async () => {
  await expect(createInferenceServer({ ...settings, models: ['starter', STARTER] })).rejects.toMatchObject({
    code: 'invalid_request',
    param: 'models',
    message: "Two of the models would be named 'starter', so requests could not tell them apart.",
  })
})
