import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { boundOrganizations } from '../../../test/organizations.ts'
import type { World } from '../../../test/world.ts'
import { graphBuilder } from '../../convert/onnx/graph-builder.ts'
import { tensorOf } from '../../convert/onnx/tensors.ts'
import { writeOnnx } from '../../convert/onnx/write-onnx.ts'
import { makeGguf, tinyLlama } from '../../inference/models/gguf/write-gguf.fixture.ts'
import { someBytes, startHub, startRegistry } from '../../inference/sources/loopback-hub.fixture.ts'
import { startFaultyProxy } from '../faulty-proxy.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

const hashOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

const openOrganization = boundOrganizations()

const start = async () => {
  const { world, key } = await openOrganization()
  const cwd = await emptyFolder()
  const home = await emptyFolder()
  const env = { SERVICE_HOME: home, SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const svc = (...argv: string[]) => runInProcess(argv, { env, cwd })
  const catalog = async () => {
    const { body } = await world.request('GET', '/api/v1/models', { key })
    return (body as { models: { name: string; framework: string; model_hash: string }[] }).models
  }
  return { world, key, cwd, home, env, svc, catalog }
}

it('creates a model named after the file, with the file as a version', async () => {
  const { cwd, svc, catalog } = await start()
  const bytes = someBytes(5000)
  await writeFile(join(cwd, 'my net-v2.h5'), bytes)
  const { stdout, ...rest } = await svc('push', 'my net-v2.h5', '--version', '1.2.0')
  expect(rest).toEqual({ exitCode: 0, stderr: '' })
  const id = /^Model id: +(\S+)$/m.exec(stdout)![1]
  expect(stdout).toBe(
    `Model:     my_net-v2\nModel id:  ${id}\nVersion:   1.2.0 (number 1)\nFormat:    tensorflow\nSize:      5 kB\nHash:      ${hashOf(bytes)}\n`,
  )
  expect(await catalog()).toMatchObject([{ name: 'my_net-v2', framework: 'tensorflow', model_hash: hashOf(bytes) }])
  await writeFile(join(cwd, 'vector.f32'), Float32Array.of(1, 2))
  expect((await svc('push', 'vector.f32', '--version', '1.0.0')).stdout).toMatch(/^Model: +vector\n/)
})

it('asks the service for the given formats', async () => {
  const { world, key, cwd, svc } = await start()
  await writeFile(join(cwd, 'a.onnx'), someBytes(100))
  expect(await svc('push', 'a.onnx', '-v', '1.0.0', '--formats', 'tflite, coreml')).toMatchObject({ exitCode: 0 })
  const { body } = await world.request('GET', '/api/v1/models/a', { key })
  expect(body).toMatchObject({ versions: [{ formats: [{ format: 'tflite' }, { format: 'coreml' }] }] })
  expect(await svc('push', 'a.onnx', '-v', '2.0.0', '--formats', 'jax')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("'jax' is not one of onnx, tflite, coreml"),
  })
})

it("uses the only model file of the folder if none is given; --model-id sets the model's name", async () => {
  const { cwd, svc, catalog } = await start()
  expect(await svc('push', '-v', '1.0.0')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('no model file in this folder'),
  })
  await writeFile(join(cwd, 'notes.txt'), 'nothing')
  await writeFile(join(cwd, 'a.onnx'), someBytes(100))
  expect(await svc('push', '-v', '1.0.0', '-m', 'net')).toMatchObject({ exitCode: 0 })
  await writeFile(join(cwd, 'b.onnx'), someBytes(100))
  expect(await svc('push', '-v', '2.0.0')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('There are several model files in this folder: a.onnx, b.onnx.'),
  })
  expect((await catalog()).map(({ name }) => name)).toEqual(['net'])
})

it('succeeds without an upload if the bytes are the same, and refuses other bytes for the same version', async () => {
  const { world, key, cwd, svc } = await start()
  await writeFile(join(cwd, 'net.onnx'), someBytes(100))
  const first = JSON.parse((await svc('push', 'net.onnx', '-v', '1.0.0', '--json')).stdout)
  const again = await svc('push', 'net.onnx', '-v', '1.0.0', '--json')
  expect([again.exitCode, again.stderr, JSON.parse(again.stdout)]).toEqual([
    0,
    'This version already exists with the same contents.\n',
    {
      model_id: first.model_id,
      model_name: 'net',
      version: 1,
      version_label: '1.0.0',
      format: 'onnx',
      model_size_bytes: 100,
      model_hash: hashOf(someBytes(100)),
      uploaded_at: '2026-01-01T00:00:00.000Z',
      metadata: {},
      already_there: true,
    },
  ])
  await writeFile(join(cwd, 'net.onnx'), someBytes(100, 2))
  expect(await svc('push', 'net.onnx', '-v', '1.0.0')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr:
      "svc: Version 1.0.0 of 'net' already exists with other contents.\nVersions cannot be changed. Choose another --version.\n",
  })
  const { body } = await world.request('GET', '/api/v1/models/net', { key })
  expect((body as { versions: unknown[] }).versions).toHaveLength(1)
})

it('quantizes a model before the upload, and pushes nothing if the quality cannot be measured', async () => {
  const { cwd, home, svc, catalog } = await start()
  const graph = graphBuilder('net')
  const x = graph.input('x', 'f32', ['batch', 64])
  const weights = Array.from({ length: 4096 }, (_, at) => Math.sin(at * 0.7))
  const product = graph.node('MatMul', [x, graph.constant('w', tensorOf('f32', [64, 64], weights))])
  graph.output('y', product, 'f32', ['batch', 64])
  const bytes = writeOnnx(graph.build())
  await writeFile(join(cwd, 'net.onnx'), bytes)
  expect(await svc('push', 'net.onnx', '-v', '1.0.0', '-q', 'int8', '--quality-threshold', '0.9')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('svc engines install onnxruntime'),
  })
  expect(await catalog()).toEqual([])
  const ofKilledRun = join(home, '.adding-0123456789ab')
  await mkdir(ofKilledRun)
  await utimes(ofKilledRun, 0, 0)
  const { exitCode, stdout } = await svc('push', 'net.onnx', '-v', '1.0.0', '-q', 'float16', '--json')
  const pushed = JSON.parse(stdout)
  expect({ exitCode, name: pushed.model_name, format: pushed.format }).toEqual({
    exitCode: 0,
    name: 'net',
    format: 'onnx',
  })
  expect(pushed.model_size_bytes).toBeLessThan(bytes.length * 0.6)
  expect(await readdir(home)).toEqual([])
})

it('invalid arguments are wrong usage, and the error names the option', async () => {
  const { cwd, svc, catalog } = await start()
  await writeFile(join(cwd, 'net.onnx'), someBytes(100))
  await writeFile(join(cwd, '___.onnx'), someBytes(100))
  const cases: readonly (readonly [argv: readonly string[], said: string])[] = [
    [['net.onnx'], '--version <version>'],
    [['net.onnx', '-v', 'v1.0.0'], 'It must be a semantic version such as 1.4.0, of at most 100 characters.'],
    [['net.onnx', '-v', '1.0'], '--version'],
    [['net.onnx', '-v', '1.0.0', '-q', 'int3'], '--quantize'],
    [['net.onnx', '-v', '1.0.0', '--quality-threshold', '1.5'], 'from 0 to 1'],
    [['net.onnx', '-v', '1.0.0', '--quality-threshold', '0.9'], '--quality-threshold'],
    [['net.onnx', '-v', '1.0.0', '-m', 'a/b'], "--model-id 'a/b' cannot be the name of a model."],
    [['___.onnx', '-v', '1.0.0'], '--model-id'],
  ]
  for (const [argv, response] of cases) {
    expect(await svc('push', ...argv), argv.join(' ')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining(response),
    })
  }
  expect(await catalog()).toEqual([])
})

it('fails with the reason: invalid model, missing file or model, empty file, no key', async () => {
  const { cwd, env, svc } = await start()
  await writeFile(join(cwd, 'net.onnx'), someBytes(100))
  await writeFile(join(cwd, 'empty.onnx'), '')
  const { metadata, tensors } = tinyLlama()
  const part = (count: number) => makeGguf({ metadata: { ...metadata, 'split.count': ['u32', count] }, tensors })
  await writeFile(join(cwd, 'renamed.gguf'), part(2))
  await writeFile(join(cwd, 'merged-00001-of-00002.gguf'), part(1))
  await writeFile(join(cwd, 'graph.onnx'), '\n\x08location\x12\x0cweights.data')
  const failed = async (...argv: string[]) => {
    const { exitCode, stderr } = await svc('push', ...argv)
    return [exitCode, stderr.split('\n').find((line) => line.startsWith('svc: '))]
  }
  expect([
    await failed('net.onnx', '-v', '1.0.0', '-q', 'int8'),
    await failed('other.onnx', '-v', '1.0.0'),
    await failed('other', '-v', '1.0.0'),
    await failed('empty.onnx', '-v', '1.0.0'),
    await failed('renamed.gguf', '-v', '1.0.0'),
    await failed('graph.onnx', '-v', '1.0.0'),
    await failed('merged-00001-of-00002.gguf', '-v', '1.0.0'),
    await failed('net.onnx', '-v', '1.0.0', '-m', '00000000-0000-4000-8000-000000000000'),
    await failed('hf:a/b/c', '-v', '1.0.0'),
    await failed('/dev/null', '-v', '1.0.0'),
  ]).toEqual([
    [
      1,
      'svc: net.onnx was not quantized, and nothing was written: The file is not a complete ModelProto: illegal tag: field no 2024 wire type 6.',
    ],
    [1, 'svc: There is no file other.onnx.'],
    [1, "svc: There is no file and no model 'other' here."],
    [1, `svc: ${join(cwd, 'empty.onnx')} is empty: a version needs weights.`],
    [1, 'svc: renamed.gguf is one of 2 parts of a model, but a version is one file.'],
    [1, 'svc: graph.onnx stores weights in another file, weights.data, but a version is one file.'],
    [0, undefined],
    [1, 'svc: There is no model with the id 00000000-0000-4000-8000-000000000000.'],
    [1, "svc: 'hf:a/b/c' is not the name of a model."],
    [1, 'svc: /dev/null is not a regular file.'],
  ])
  const { SERVICE_API_KEY: _, ...keyless } = env
  expect(await runInProcess(['push', 'net.onnx', '-v', '1.0.0'], { env: keyless, cwd })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('you are not signed in'),
  })
})

it('downloads a Hugging Face or Ollama model, pushes it, and deletes the download', async () => {
  const { env, cwd, home, catalog } = await start()
  const weights = someBytes(50_000)
  const hub = await startHub({
    'tiny-Q4_0.gguf': { bytes: weights, large: true },
    'tiny-Q8_0.gguf': { bytes: someBytes(9), large: true },
  })
  hub.cuts.push(20_000)
  const registry = await startRegistry(someBytes(40_000, 3))
  const svc = (...argv: string[]) =>
    runInProcess(argv, { env: { ...env, HF_ENDPOINT: hub.endpoint, OLLAMA_REGISTRY: registry.address }, cwd })
  expect([
    await svc('push', 'hf:org/tiny', '-v', '1.0.0'),
    await svc('push', 'ollama:tiny', '-v', '2.0.0', '-m', 'other'),
  ]).toMatchObject([
    { exitCode: 0, stderr: 'Chose tiny-Q4_0.gguf of 2 GGUF files.\n' },
    { exitCode: 0, stderr: '' },
  ])
  expect((await catalog()).map(({ name, model_hash }) => [name, model_hash])).toEqual([
    ['other', hashOf(someBytes(40_000, 3))],
    ['tiny', hashOf(weights)],
  ])
  expect(await readdir(join(home, 'downloads'))).toEqual([])
  hub.files.set('tiny-Q4_0.gguf', {
    bytes: makeGguf({ ...tinyLlama(), metadata: { ...tinyLlama().metadata, 'split.count': ['u32', 2] } }),
    large: true,
  })
  expect(await svc('push', 'hf:org/tiny', '-v', '3.0.0')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('tiny-Q4_0.gguf is one of 2 parts of a model, but a version is one file.'),
  })
  const refused = await svc('push', 'hf:org/none', '-v', '1.0.0')
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    `svc: ${new URL(hub.endpoint).host} has no model org/none.\nSee ${hub.endpoint}/org/none\n`,
  ])
})

it('does not download a model that Ollama has already pulled to this machine', async () => {
  const { env, cwd, catalog } = await start()
  const OLLAMA_MODELS = await emptyFolder()
  const manifests = join(OLLAMA_MODELS, 'manifests', 'registry.ollama.ai', 'library', 'tiny')
  await mkdir(manifests, { recursive: true })
  await mkdir(join(OLLAMA_MODELS, 'blobs'))
  const digest = hashOf(someBytes(900))
  const layers = ['model', 'system'].map((kind) => ({ mediaType: `application/vnd.ollama.image.${kind}`, digest }))
  await writeFile(join(manifests, 'latest'), JSON.stringify({ layers }))
  await writeFile(join(OLLAMA_MODELS, 'blobs', digest.replace(':', '-')), someBytes(900))
  expect(
    await runInProcess(['push', 'ollama:tiny', '-v', '1.0.0'], { env: { ...env, OLLAMA_MODELS }, cwd }),
  ).toMatchObject({
    exitCode: 0,
    stderr:
      'Read from the models that Ollama has pulled to this machine.\nOnly the weights are used, not the system message.\n',
  })
  expect(await catalog()).toMatchObject([{ name: 'tiny', model_hash: digest }])
})

it('pushes a local model by its name', async () => {
  const { cwd, home, svc, catalog } = await start()
  await mkdir(join(home, 'models'), { recursive: true })
  await writeFile(join(cwd, 'in.gguf'), 'GGUF and more')
  const { addModel } = await import('../../inference/models/change-models.ts')
  await addModel(home, { name: 'mine:q8_0', path: join(cwd, 'in.gguf') })
  expect(await svc('push', 'mine', '-v', '1.0.0')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining(
      'The file is a GGUF file: it can be delivered to devices, but training jobs cannot',
    ),
  })
  expect(await catalog()).toMatchObject([{ name: 'mine', model_hash: hashOf(Buffer.from('GGUF and more')) }])
})

/** A proxy between svc and the service: cuts uploads off, loses their responses, or answers 503 (`down`: also to the next request). */
const startTroubled = async (
  world: World,
  troubles: ('cut' | 'lose-response' | 'busy' | 'down')[],
): Promise<string> => {
  let isDown = false
  return startFaultyProxy(world, (incoming, outgoing, forward) => {
    const isUpload = incoming.method === 'POST' && incoming.url!.endsWith('/upload')
    const trouble = isUpload ? troubles.shift() : undefined
    const isStillDown = isDown
    isDown = trouble === 'down'
    if (trouble === 'busy' || trouble === 'down' || isStillDown)
      incoming.resume().on('end', () => outgoing.writeHead(503, { 'retry-after': '0' }).end())
    else if (trouble === 'cut') incoming.once('data', () => incoming.destroy())
    else if (trouble === 'lose-response') forward(() => outgoing.destroy())
    else forward()
  })
}

it('retries an interrupted upload, even if the version was stored and only the response was lost', async () => {
  const { world, key, env, cwd } = await start()
  const bytes = someBytes(3_000_000)
  await writeFile(join(cwd, 'net.onnx'), bytes)
  for (const [label, troubles] of [
    ['1.0.0', ['cut', 'busy']],
    ['2.0.0', ['lose-response']],
    ['3.0.0', ['down']],
  ] as const) {
    const SERVICE_API_BASE = await startTroubled(world, [...troubles])
    const { exitCode, stderr } = await runInProcess(['push', 'net.onnx', '-v', label], {
      env: { ...env, SERVICE_API_BASE },
      cwd,
    })
    expect([exitCode, stderr.match(/Trying again/g)?.length]).toEqual([0, troubles.length])
  }
  const { body } = await world.request('GET', '/api/v1/models/net', { key })
  const { versions } = body as { versions: { version_label: string; model_hash: string }[] }
  expect(versions.map(({ version_label, model_hash }) => [version_label, model_hash])).toEqual([
    ['1.0.0', hashOf(bytes)],
    ['2.0.0', hashOf(bytes)],
    ['3.0.0', hashOf(bytes)],
  ])
})

it('shows a progress bar on a terminal', async () => {
  const { env, cwd } = await start()
  await writeFile(join(cwd, 'net.onnx'), someBytes(1_000_000))
  const { run } = await import('../program.ts')
  let shown = ''
  const stderr = { isTTY: true, write: (text: string) => void (shown += text) }
  expect(await run(['push', 'net.onnx', '-v', '1.0.0'], { env, cwd, stdout: { write: () => undefined }, stderr })).toBe(
    0,
  )
  expect(shown).toContain(`Pushing net.onnx ${'█'.repeat(24)} 100% of 1.0 MB`)
})

it('a pushed version is pulled again byte for byte', async () => {
  const { cwd, svc } = await start()
  await writeFile(join(cwd, 'net.onnx'), someBytes(70_000))
  await svc('push', 'net.onnx', '-v', '1.0.0')
  expect(await svc('pull', 'net')).toMatchObject({ exitCode: 0, stderr: '' })
  expect((await readFile(join(cwd, 'net-v1.onnx'))).equals(someBytes(70_000))).toBe(true)
})
