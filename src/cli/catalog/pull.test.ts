import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import { formOf } from '../../../test/world.ts'
import { sha256Of, someBytes } from '../../inference/sources/loopback-hub.fixture.ts'
import { startFaultyProxy } from '../faulty-proxy.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

const openOrganization = boundOrganizations()

const start = async () => {
  const { world, key } = await openOrganization()
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  for (const [seed, label] of [
    [1, '1.4.0'],
    [2, '1.5.0'],
  ] as const) {
    await world.request('POST', '/api/v1/models/net/versions/upload', {
      key,
      body: formOf(someBytes(80_000, seed), { version_label: label }, 'w.onnx'),
    })
  }
  const cwd = await emptyFolder()
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  return { world, cwd, env, svc: (...argv: string[]) => runInProcess(argv, { env, cwd }) }
}

it('pulls the latest version, one by label, and one by number, to a folder or a path', async () => {
  const { cwd, svc } = await start()
  await mkdir(join(cwd, 'here'))
  expect(await svc('pull', 'net')).toEqual({
    exitCode: 0,
    stdout: `File:     ${join(cwd, 'net-v2.onnx')}\nVersion:  1.5.0\nSize:     80 kB\nHash:     sha256:${sha256Of(someBytes(80_000, 2))}\n`,
    stderr: '',
  })
  await svc('pull', 'net', '-v', '1.4.0', '-o', 'here')
  await svc('pull', 'net', '--version', '1', '--output', 'new/')
  await svc('pull', 'net', '--version', '1.5.0', '--output', 'mine.onnx')
  const paths = ['net-v2.onnx', 'here/net-v1.onnx', 'new/net-v1.onnx', 'mine.onnx']
  expect(await Promise.all(paths.map(async (path) => sha256Of(await readFile(join(cwd, path)))))).toEqual(
    [2, 1, 1, 2].map((seed) => sha256Of(someBytes(80_000, seed))),
  )
  expect((await readdir(cwd)).sort()).toEqual(['here', 'mine.onnx', 'net-v2.onnx', 'new'])
})

it('succeeds if the file already exists with the same bytes, and leaves a different file unchanged', async () => {
  const { cwd, svc } = await start()
  await svc('pull', 'net')
  const again = await svc('pull', 'net', '--json')
  expect([again.exitCode, again.stderr, JSON.parse(again.stdout)]).toEqual([
    0,
    'It was already there.\n',
    {
      model_id: expect.any(String),
      version: 2,
      version_label: '1.5.0',
      path: join(cwd, 'net-v2.onnx'),
      model_size_bytes: 80_000,
      model_hash: `sha256:${sha256Of(someBytes(80_000, 2))}`,
      already_there: true,
    },
  ])
  await writeFile(join(cwd, 'net-v2.onnx'), 'mine')
  expect(await svc('pull', 'net')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: ${join(cwd, 'net-v2.onnx')} already exists with other contents; it was not changed.\nMove it, or choose another path with --output.\n`,
  })
  expect(await readFile(join(cwd, 'net-v2.onnx'), 'utf8')).toBe('mine')
})

it('reports an unknown model, version, or unavailable format; an unsupported format name is wrong usage', async () => {
  const { cwd, svc } = await start()
  expect([
    await svc('pull', 'other'),
    await svc('pull', 'net', '-v', '9.0.0'),
    await svc('pull', 'net', '--format', 'coreml'),
    await svc('pull', 'net', '--format', 'zip'),
    await svc('pull'),
  ]).toEqual([
    { exitCode: 1, stdout: '', stderr: expect.stringContaining("The catalog has no model 'other'") },
    { exitCode: 1, stdout: '', stderr: "svc: Model 'net' has no version 9.0.0.\nIt has 1.4.0, 1.5.0.\n" },
    { exitCode: 1, stdout: '', stderr: expect.stringContaining('is not available as coreml: ') },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining('--format') },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining("'name'") },
  ])
  expect(await readdir(cwd)).toEqual([])
})

it('waits until the format is converted', async () => {
  const { world, env, cwd, svc } = await start()
  const body = formOf(await readFile('test/fixtures/from-torch/cnn.pt2'), {}, 'cnn.pt2')
  const key = env.SERVICE_API_KEY
  await world.request('POST', '/api/v1/models/net/versions/upload', { key, body })
  const { exitCode, stderr } = await svc('pull', 'net', '--format', 'tflite')
  expect({ exitCode, stderr }).toEqual({
    exitCode: 0,
    stderr: expect.stringMatching(
      /^Version \d+\.\d+\.\d+ is not available as tflite yet: its conversion is (pending|running)\./,
    ),
  })
  expect((await readFile(join(cwd, 'net-v3.tflite'))).toString('latin1', 4, 8)).toBe('TFL3')
})

it('resumes after a lost connection; refuses wrong bytes and keeps none of them; repeats a refusal of the service', async () => {
  const { world, env, cwd } = await start()
  const ranges: (string | undefined)[] = []
  let spoil = false
  let isBusy = false
  const SERVICE_API_BASE = await startFaultyProxy(world, ({ url, headers }, outgoing, forward) => {
    if (isBusy && url!.endsWith('/download')) {
      const body = { error: 'rate_limited', message: 'Too many requests. Try again in 19 s.', details: null }
      outgoing.writeHead(429, { 'content-type': 'application/json', 'retry-after': '19' }).end(JSON.stringify(body))
      return
    }
    if (!url!.endsWith('/download') || headers.range === 'bytes=0-0') return forward()
    ranges.push(headers.range)
    forward((response) => {
      outgoing.writeHead(response.statusCode!, response.headers)
      if (spoil) response.on('data', (piece: Buffer) => outgoing.write(piece.fill(0))).on('end', () => outgoing.end())
      else if (ranges.length === 1)
        response.once('data', (piece: Buffer) => outgoing.write(piece, () => outgoing.destroy()))
      else response.pipe(outgoing)
    })
  })
  const svc = (...argv: string[]) => runInProcess(argv, { env: { ...env, SERVICE_API_BASE }, cwd })
  expect(await svc('pull', 'net')).toMatchObject({ exitCode: 0, stderr: '' })
  expect([sha256Of(await readFile(join(cwd, 'net-v2.onnx'))), ranges.length]).toEqual([
    sha256Of(someBytes(80_000, 2)),
    2,
  ])
  spoil = true
  expect(await svc('pull', 'net', '-v', '1.4.0')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('has the sha256'),
  })
  expect(await readdir(cwd)).toEqual(['net-v2.onnx'])
  isBusy = true
  expect(await svc('pull', 'net')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'svc: Too many requests. Try again in 19 s.\n',
  })
})

it("dashboard prints and opens the service's address, or SERVICE_DASHBOARD_URL", async () => {
  const opened: string[] = []
  const svc = async (env: Record<string, string>, ...argv: string[]) =>
    runInProcess(['dashboard', ...argv], {
      env: { SERVICE_HOME: await emptyFolder(), ...env },
      openBrowser: (address) => opened.push(address),
    })
  expect([
    await svc({}),
    await svc({ SERVICE_DASHBOARD_URL: 'https://fleet.example/' }),
    await svc({ SERVICE_DASHBOARD_URL: 'https://fleet.example' }, '--api-base', 'http://10.0.0.1:8000', '--no-open'),
    await svc({ SERVICE_DASHBOARD_URL: 'fleet' }),
  ]).toEqual([
    { exitCode: 0, stdout: 'http://127.0.0.1:8000/\n', stderr: '' },
    { exitCode: 0, stdout: 'https://fleet.example/\n', stderr: '' },
    { exitCode: 0, stdout: 'http://10.0.0.1:8000/\n', stderr: '' },
    { exitCode: 2, stdout: '', stderr: expect.stringContaining('SERVICE_DASHBOARD_URL') },
  ])
  expect(opened).toEqual(['http://127.0.0.1:8000/', 'https://fleet.example/'])
})
