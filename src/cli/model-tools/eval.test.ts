import { readFile, symlink, truncate, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld } from '../../../test/world.ts'
import { bootstrapInterval, mcNemarTest, quantile, signFlipTest } from '../../convert/evaluate/paired.ts'
import { openStarter, serveForTest } from '../../inference/api/test-inference.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

const lines = (count: number): string =>
  Array.from({ length: count }, (_, i) => JSON.stringify({ input: `line ${i}`, expected_output: `answer ${i}` })).join(
    '\n',
  )

interface Other {
  readonly url: string
  /** The inputs that it received, each after the model's name. */
  readonly asked: string[]
  /** The models of requests for a single token, which precede those that are timed. */
  readonly warmedUp: string[]
  /** Returns another status for a request with this input, which is a text to embed for `my-embedder`, or null. */
  fault: (model: string, input: string) => { readonly status: number; readonly message: string } | null
}

interface Body {
  readonly model: string
  readonly input: string[]
  readonly messages: { readonly content: string }[]
  readonly max_tokens: number
}

/** A third-party server: `good` is always right, `bad` only on every third line, `my-embedder` embeds numbers. */
const startOther = async (): Promise<Other> => {
  const other: Other = { url: '', asked: [], warmedUp: [], fault: () => null }
  const answer = (path: string, body: Body | null) => {
    if (path === '/v1/models') return { data: ['good', 'bad', 'my-embedder'].map((id) => ({ id })) }
    if (path === '/v1/embeddings')
      return { data: body!.input.map((text) => ({ embedding: [1, Number(/\d+/.exec(text)?.[0] ?? 0)] })) }
    if (body!.max_tokens === 1) {
      other.warmedUp.push(body!.model)
      return { choices: [{ message: { role: 'assistant', content: 'Hi' } }] }
    }
    const number = Number(/\d+/.exec(body!.messages[0]!.content)![0])
    other.asked.push(`${body!.model} ${number}`)
    const content = body!.model === 'good' || number % 3 === 0 ? `answer ${number}` : 'no idea'
    return { choices: [{ message: { role: 'assistant', content } }] }
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const body = text === '' ? null : JSON.parse(text)
    const inputs: string[] = body?.messages ? [body.messages[0].content] : (body?.input ?? [])
    const fault = inputs.map((input) => other.fault(body.model, input)).find((found) => found !== null)
    response.writeHead(fault?.status ?? 200, { 'content-type': 'application/json', 'retry-after': '0' })
    response.end(JSON.stringify(fault ? { error: { message: fault.message } } : answer(request.url!, body)))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(other, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

const start = async (text = lines(12)) => {
  const cwd = await emptyFolder()
  await writeFile(join(cwd, 'test.jsonl'), text)
  const run = (argv: readonly string[], env: Record<string, string> = {}) =>
    runInProcess(['eval', ...argv], { cwd, env: { SERVICE_HOME: cwd, ...env } })
  return { cwd, run }
}

describe('with a third-party server', () => {
  it('measures similarity by the cosine of its embeddings', async () => {
    const [{ url }, { run }] = [await startOther(), await start()]
    const good = await run(['good', '-d', 'test.jsonl', '--api-base', `${url}/v1/`, '--json'])
    expect({ exitCode: good.exitCode, ...JSON.parse(good.stdout) }).toEqual({
      exitCode: 0,
      api_base: `${url}/v1`,
      similarity_method: 'embedding cosine',
      embedding_model: 'my-embedder',
      threshold: 0.95,
      threshold_metric: 'similarity',
      passed: true,
      models: [
        {
          model: 'good',
          lines: 12,
          refused: 0,
          similarity: {
            mean: expect.closeTo(1),
            lines: 12,
            interval: { lower: expect.closeTo(1), upper: expect.closeTo(1) },
          },
          exact_match: { mean: 1, lines: 12, interval: { lower: expect.closeTo(0.758, 3), upper: 1 } },
          latency_ms: { p50: expect.any(Number), p95: expect.any(Number) },
          errors: [],
        },
      ],
      comparison: [],
    })
    const bad = await run(['bad', '-d', 'test.jsonl', '--threshold', '0.5', '--metrics', 'exact_match'], {
      SERVICE_API_BASE: url,
    })
    expect(bad).toEqual({
      exitCode: 1,
      stderr: '',
      stdout: expect.stringContaining("Failed: bad's mean exact_match of 0.3333 is below 0.5."),
    })
    expect(bad.stdout).toMatch(/bad +12 +0 +- +0\.333 \[0\.138, 0\.609\] +- +-\n/)
  })

  it('compares two models line by line', async () => {
    const [{ url, warmedUp }, { run }] = [await startOther(), await start()]
    const argv = [
      'good',
      '-d',
      'test.jsonl',
      '--api-base',
      url,
      '--compare',
      'bad',
      '--metrics',
      'similarity,exact_match',
    ]
    const { exitCode, stdout } = await run([...argv, '--json'])
    const { models, comparison } = JSON.parse(stdout)
    expect({ exitCode, comparison }).toEqual({
      exitCode: 0,
      comparison: [
        {
          metric: 'similarity',
          difference: expect.closeTo(models[0].similarity.mean - models[1].similarity.mean),
          interval: { lower: expect.any(Number), upper: expect.any(Number) },
          test: 'paired permutation',
          p_value: expect.closeTo(0.008, 2),
        },
        {
          metric: 'exact_match',
          difference: expect.closeTo(8 / 12),
          interval: { lower: expect.any(Number), upper: expect.any(Number) },
          test: 'McNemar',
          p_value: expect.closeTo(2 / 2 ** 8),
        },
      ],
    })
    expect((await run(argv)).stdout).toMatch(
      /^good minus bad, exact_match: 0\.667 \[0\.\d+, 0\.\d+\], p = 0\.008 \(McNemar\)$/m,
    )
    expect(warmedUp).toEqual([])
    expect((await run([...argv.slice(0, -1), 'latency'])).stdout).toMatch(/^bad +12 +0 +- +- +\d+ ms/m)
    expect(warmedUp).toEqual(['good', 'bad'])
  })

  it('retries failed requests, and a second run resumes where the first one stopped', async () => {
    const [other, { cwd, run }] = [await startOther(), await start()]
    const argv = [
      'good',
      '-d',
      'test.jsonl',
      '--api-base',
      other.url,
      '--results',
      'results.jsonl',
      '--concurrency',
      '1',
    ]
    let faults = 0
    other.fault = (_, input) => {
      if (input === 'line 2' && faults++ < 2) return { status: 503, message: 'Busy.' }
      return input === 'line 5' ? { status: 500, message: 'Broken.' } : null
    }
    expect(await run(argv)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining(`${other.url}/v1 failed 4 times: Broken.\nWith --results <file>`),
    })
    expect(other.asked).toEqual(['good 0', 'good 1', 'good 2', 'good 3', 'good 4'])
    // A partial line, as after a crash.
    const kept = await readFile(join(cwd, 'results.jsonl'), 'utf8')
    await writeFile(join(cwd, 'results.jsonl'), `${kept}{"line":6,"mod`)
    other.fault = () => null
    other.asked.length = 0
    expect(await run(argv)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Passed') })
    expect(other.asked).toEqual([5, 6, 7, 8, 9, 10, 11].map((number) => `good ${number}`))
    expect(await run(argv)).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('good: 12 of 12 results were read from results.jsonl.'),
    })
    expect(other.asked.length).toBe(7)
    expect(other.warmedUp).toEqual(['good', 'good'])
    await run([...argv, '--max-tokens', '9'])
    expect(other.asked.length).toBe(19)
    // Another server's model of the same name.
    const second = await startOther()
    const responses = await run(argv.map((argument) => (argument === other.url ? second.url : argument)))
    expect(responses).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('were read from') })
    expect(second.asked.length).toBe(12)
  })

  it('counts a line that the server refuses as wrong', async () => {
    const [other, { run }] = [await startOther(), await start()]
    other.fault = (_, input) => (input === 'line 4' ? { status: 400, message: 'Too long.' } : null)
    const { exitCode, stdout } = await run(['good', '-d', 'test.jsonl', '--api-base', other.url, '--json'])
    expect({ exitCode, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 1,
      passed: false,
      models: [
        {
          refused: 1,
          exact_match: { mean: 11 / 12 },
          similarity: { mean: expect.closeTo(11 / 12) },
          errors: [{ line: 5, error: 'Too long' }],
        },
      ],
    })
  })

  it('evaluates refused lines again, and says why the first one was refused', async () => {
    const [other, { run }] = [await startOther(), await start()]
    const argv = ['good', '-d', 'test.jsonl', '--api-base', other.url, '--results', 'results.jsonl']
    other.fault = (_, input) => (/^line [46]$/.test(input) ? { status: 400, message: 'Too long.' } : null)
    expect((await run(argv)).stderr).toContain(
      'good: 2 of 12 lines have an error. The first one is line 5: Too long.\n',
    )
    other.fault = () => null
    other.asked.length = 0
    expect(await run(argv)).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('good: 10 of 12 results') })
    expect(other.asked.sort()).toEqual(['good 4', 'good 6'])
    expect((await run(argv)).stderr).toContain('good: 12 of 12 results')
  })

  it('leaves lines out of the similarity whose texts the embedding model refuses', async () => {
    const [other, { run }] = [await startOther(), await start()]
    const argv = ['good', '-d', 'test.jsonl', '--api-base', other.url, '--compare', 'bad']
    other.fault = (model, input) =>
      model === 'my-embedder' && /^answer [12]$/.test(input) ? { status: 400, message: 'Too many tokens.' } : null
    const { exitCode, stdout, stderr } = await run([...argv, '--json'])
    const errors = [2, 3].map((line) => ({ line, error: 'no similarity: Too many tokens' }))
    expect({ exitCode, stderr, ...JSON.parse(stdout) }).toMatchObject({
      exitCode: 0,
      stderr: '',
      models: [
        { refused: 0, similarity: { mean: expect.closeTo(1), lines: 10 }, exact_match: { mean: 1, lines: 12 }, errors },
        { refused: 0, similarity: { lines: 10 }, exact_match: { lines: 12 }, errors },
      ],
    })
    other.fault = (model, input) =>
      input === 'a' ? null : (model === 'my-embedder' && { status: 400, message: 'No.' }) || null
    expect(await run(argv)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('The similarity of no line could be measured: no similarity: No.\nUse another'),
    })
  })

  it('waits for a server that says when to try again, and does not warn about many waits', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const [other, { cwd }] = [await startOther(), await start()]
    const refusals = new Map<string, number>()
    other.fault = (_, input) => {
      const before = refusals.get(input) ?? 0
      refusals.set(input, before + 1)
      return input.startsWith('line') && before < 5 ? { status: 429, message: 'Four are running.' } : null
    }
    const { exitCode, stdout } = await runInProcess(
      ['eval', 'good', '-d', 'test.jsonl', '--api-base', other.url, '--concurrency', '12'],
      { cwd, env: { SERVICE_HOME: cwd }, signal: new AbortController().signal },
    )
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Passed')])
    expect(warnings).toEqual([])
  })
})

it('measures our own server, and the service that forwards to it, by token F1', async () => {
  const engine = await openStarter()
  const server = await serveForTest(engine)
  onTestFinished(async () => {
    await server.close()
    await engine.close()
  })
  const { run } = await start(
    '{"input":"What is the capital of France?","expected_output":"The capital of France is Paris."}\n',
  )
  const argv = ['starter', '-d', 'test.jsonl', '--json', '--api-base']
  const own = await run([...argv, server.url])
  expect({ exitCode: own.exitCode, ...JSON.parse(own.stdout) }).toMatchObject({
    exitCode: 0,
    similarity_method: 'token F1',
    embedding_model: null,
    models: [{ similarity: { mean: 1 }, exact_match: { mean: 1 } }],
  })
  const world = await startWorld({ config: { inferenceUrl: server.url } })
  const { key } = await world.register('a')
  const through = await run([...argv, world.baseUrl], { SERVICE_API_KEY: world.service.firstAdminKey ?? key })
  expect({ exitCode: through.exitCode, ...JSON.parse(through.stdout) }).toMatchObject({
    exitCode: 0,
    api_base: `${world.baseUrl}/api/v1/inference`,
    models: [{ exact_match: { mean: 1 } }],
  })
})

describe('refuses', () => {
  it.each([
    [['good', '-d', 'missing.jsonl'], 1, 'missing.jsonl'],
    [['good'], 2, '--test-data'],
    [['good', '-d', 'test.jsonl', '--metrics', 'bleu'], 2, "'bleu' is not one of similarity, exact_match, latency."],
    [['good', '-d', 'test.jsonl', '--threshold', '2'], 2, 'It must be a number from 0 to 1.'],
    [['good', '-d', 'test.jsonl', '--api-base', 'nowhere'], 2, '--api-base is not the address'],
    [['good', '-d', 'test.jsonl', '--api-base', ''], 2, '--api-base is not the address'],
    [
      ['good', '-d', 'test.jsonl', '--api-base', 'http://127.0.0.1:1'],
      1,
      'There is no inference server at http://127.0.0.1:1 (http://127.0.0.1:1/v1: bad port).',
    ],
  ])('%j', async (argv, exitCode, message) => {
    const { run } = await start()
    expect(await run(argv)).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
  })

  it.each([
    [['-d', '.'], 1, 'svc: . is a folder. Give the path of a file.'],
    [['-d', 'test.jsonl', '--results', './test.jsonl'], 2, '--results and --test-data are the same file.'],
    [['-d', 'test.jsonl', '--results', 'link.jsonl'], 2, '--results and --test-data are the same file.'],
    [['-d', 'test.jsonl', '--results', '.'], 2, 'is a folder.'],
    [['-d', 'test.jsonl', '--results', 'absent/results.jsonl'], 2, 'There is no folder '],
    [['-d', 'test.jsonl', '--results', '/dev/null'], 2, '--results /dev/null is not a regular file.'],
    [
      ['-d', 'test.jsonl', '--results', 'other.jsonl'],
      1,
      'other.jsonl contains something other than results of svc eval',
    ],
  ])('%j, before any request', async (argv, exitCode, message) => {
    const { cwd, run } = await start()
    await symlink('test.jsonl', join(cwd, 'link.jsonl'))
    await writeFile(join(cwd, 'other.jsonl'), '{"input":"line 1"}\n{"input":"line 2"}')
    const ran = await run(['good', '--api-base', 'http://127.0.0.1:1', ...argv])
    expect(ran).toEqual({ exitCode, stdout: '', stderr: expect.stringContaining(message) })
    expect(await readFile(join(cwd, 'test.jsonl'), 'utf8')).toBe(lines(12))
    expect(await readFile(join(cwd, 'other.jsonl'), 'utf8')).toBe('{"input":"line 1"}\n{"input":"line 2"}')
  })

  it('test data that is longer than any string', async () => {
    const { cwd, run } = await start()
    await truncate(join(cwd, 'test.jsonl'), 600 * 2 ** 20)
    expect(await run(['good', '-d', 'test.jsonl', '--api-base', 'http://127.0.0.1:1'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'svc: test.jsonl is larger than the limit of 500 MB.\nSplit it into several files.\n',
    })
  })

  it('test data without expected outputs, unless only latency is measured', async () => {
    const [{ url }, { run }] = [await startOther(), await start('{"input":"line 1"}')]
    const argv = ['good', '-d', 'test.jsonl', '--api-base', url]
    expect(await run(argv)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('has an expected_output') })
    expect(await run([...argv, '-m', 'latency'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/good +1 +0 +- +- +\d+ ms/),
    })
    expect(await run(['other', '-d', 'test.jsonl', '--api-base', url, '-m', 'latency'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("has no model 'other'. It has: good, bad, my-embedder."),
    })
  })
})

it('computes intervals and tests like textbooks', () => {
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(2.5)
  expect(quantile([7], 0.95)).toBe(7)
  // scipy.stats.binomtest(1, 9).pvalue
  expect(mcNemarTest(8, 1)).toBeCloseTo(0.0390625, 9)
  expect(mcNemarTest(0, 0)).toBe(1)
  // All 2^6 sign flips: two are as extreme.
  expect(signFlipTest([1, 1, 1, 1, 1, 1])).toBeCloseTo(2 / 64, 2)
  expect(signFlipTest([0, 0])).toBe(1)
  const { lower, upper } = bootstrapInterval(Array.from({ length: 100 }, (_, i) => i % 2))
  expect(lower).toBeCloseTo(0.4, 1)
  expect(upper).toBeCloseTo(0.6, 1)
})
