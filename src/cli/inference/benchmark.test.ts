import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { runInProcess } from '../in-process.fixture.ts'

const KEY = 'sk_live_00000000000000000000000000000000'
const QUICK = ['--iterations', '3', '--max-tokens', '8', '--threads', '1']

/** A stand-in for the service that records every request. */
const recorder = async (status = 201) => {
  const received: { method: string; url: string; headers: IncomingHttpHeaders; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    received.push({ method: request.method!, url: request.url!, headers: request.headers, body })
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(status === 201 ? { id: 'x' } : { error: 'unauthorized', message: 'This key is not valid.' }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { received, base: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const svc = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  runInProcess(['benchmark', 'starter', ...QUICK, ...argv], { env: { SERVICE_HOME: await emptyFolder(), ...env } })

it('sends exactly the fields that it printed before, without names or text', async () => {
  const { received, base } = await recorder()
  const ran = await svc([], { SERVICE_API_KEY: KEY, SERVICE_API_BASE: base })
  expect(ran.exitCode).toBe(0)
  expect(received.map(({ method, url }) => [method, url])).toEqual([['POST', '/api/v1/benchmarks']])
  const lines = ran.stderr.split('\n')
  const from = lines.indexOf(`Sending exactly this to ${base} (turn off with --local):`)
  const printed = lines
    .slice(from + 1)
    .filter((line) => line.startsWith('  '))
    .map((line) => /^ {2}(\w+): (.*)$/.exec(line)!)
    .map(([, name, value]) => [name, JSON.parse(value!)])
  const body = JSON.parse(received[0]!.body)
  expect(Object.entries(body)).toEqual(printed)
  const { os, arch, engine, iterations, max_tokens, model_architecture, model_megabytes } = body
  expect({ os, arch, engine, iterations, max_tokens, model_architecture, model_megabytes }).toEqual({
    os: process.platform,
    arch: process.arch,
    engine: 'llama.cpp',
    iterations: 3,
    max_tokens: 8,
    model_architecture: 'llama',
    model_megabytes: 2,
  })
  expect(received[0]!.body).not.toMatch(/starter|gguf|story|fox|127\.0\.0\.1|sk_live/i)
  const usual = ['accept', 'accept-encoding', 'accept-language', 'authorization', 'connection', 'content-length']
  expect(Object.keys(received[0]!.headers).sort()).toEqual(
    [...usual, 'content-type', 'host', 'sec-fetch-mode', 'user-agent'].sort(),
  )
})

it('shares nothing with --local or without a key', async () => {
  const { received, base } = await recorder()
  const local = await svc(['--local'], { SERVICE_API_KEY: KEY, SERVICE_API_BASE: base })
  const keyless = await svc(['--json'], { SERVICE_API_BASE: base })
  expect([local.exitCode, keyless.exitCode, received]).toEqual([0, 0, []])
  expect(local.stderr).toContain('Nothing was shared (--local).\n')
  expect(keyless.stderr).toContain('Nothing was shared (there is no API key: svc login).\n')
  expect(local.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
    ['ENGINE', 'WHAT'],
    ['llama.cpp', 'first token, ms'],
    ['llama.cpp', 'tokens per second'],
    ['llama.cpp', 'whole reply, ms'],
    [''],
  ])
  const { results, ...rest } = JSON.parse(keyless.stdout)
  expect(rest).toEqual({ model: 'starter', skipped: [], shared: false })
  const [{ first_token_ms, total_ms, tokens_per_second, completion_tokens, memory_bytes }] = results
  expect(completion_tokens).toBe(8)
  expect(first_token_ms.p50).toBeLessThanOrEqual(first_token_ms.p99)
  expect(tokens_per_second.p50).toBeGreaterThanOrEqual(tokens_per_second.p99)
  expect(total_ms.p50).toBeGreaterThan(first_token_ms.p50)
  expect(memory_bytes).toBeGreaterThan(1_000_000)
})

it('with an inactive key it shares nothing, but still succeeds', async () => {
  const { base } = await recorder(401)
  const ran = await svc([], { SERVICE_API_KEY: KEY, SERVICE_API_BASE: base })
  expect(ran.exitCode).toBe(0)
  expect(ran.stderr).toContain('Sharing failed: This key is not valid.\n')
})

it('--all-engines measures the engines that can run the model, and says why the others cannot', async () => {
  const { exitCode, stdout } = await svc(['--all-engines', '--local', '--json'])
  const { results, skipped } = JSON.parse(stdout)
  expect(exitCode).toBe(0)
  expect(results.map(({ engine }: { engine: string }) => engine)).toEqual(['llama.cpp'])
  expect(skipped.map(({ engine }: { engine: string }) => engine)).toEqual([
    'onnxruntime',
    'mlx-lm',
    'mlc-llm',
    'mnn',
    'vllm',
  ])
})

it('counts reasoning as output, and the time of the whole reply if it arrives at once', async () => {
  let deltas: readonly object[] = []
  const upstream = createServer(async (request, response) => {
    request.resume()
    if (request.method === 'GET') return response.end('{"data":[{"id":"m"}]}')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const usage = { prompt_tokens: 7, completion_tokens: 50 }
    for (const delta of [{ content: '' }, ...deltas])
      await new Promise<unknown>((sent) =>
        response.write(`data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`, sent),
      )
    response.end(
      `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'length' }], usage })}\n\ndata: [DONE]\n\n`,
    )
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void upstream.close())
  const engine = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`
  const measured = async (...sent: object[]) => {
    deltas = sent
    const { stdout } = await runInProcess(
      ['benchmark', 'm', '--engine', engine, '--local', '--json', '--iterations', '1'],
      { env: { SERVICE_HOME: await emptyFolder() } },
    )
    const [{ first_token_ms, tokens_per_second, total_ms }] = JSON.parse(stdout).results
    return { first: first_token_ms.p50, rate: tokens_per_second.p50, total: total_ms.p50 }
  }
  const reasoning = await measured({ reasoning_content: 'hm' }, { reasoning: 'so' })
  expect(reasoning.first).toBeLessThan(reasoning.total)
  expect(reasoning.rate).toBeCloseTo((49 * 1000) / (reasoning.total - reasoning.first), 6)
  for (const sent of [[], [{ content: 'All at once.' }]]) {
    const { rate, total } = await measured(...sent)
    expect(rate).toBeCloseTo((50 * 1000) / total, 6)
  }
})

it('reports a missing model once', async () => {
  const env = { SERVICE_HOME: await emptyFolder() }
  const ran = await runInProcess(['benchmark', 'nothing-here', '--all-engines', '--local'], { env })
  expect([ran.exitCode, ran.stdout, ran.stderr.split('nothing-here').length]).toEqual([1, '', 2])
})
