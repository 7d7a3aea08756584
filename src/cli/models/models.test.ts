import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join, relative } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { putDouble } from '../../../test/fixtures/engines/put-double.ts'
import { startWorld } from '../../../test/world.ts'
import { addModel } from '../../inference/models/change-models.ts'
import { makeGguf, tinyLlama } from '../../inference/models/gguf/write-gguf.fixture.ts'
import { startHub } from '../../inference/sources/loopback-hub.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'
import { ollamaAddress } from './ollama.ts'

const table = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(/ {2,}/))

const gguf = async (): Promise<string> => {
  const path = join(await emptyFolder(), 'tiny-q8_0.gguf')
  await writeFile(path, 'GGUF and more')
  return path
}

/** Starts a fake Ollama and returns its OLLAMA_HOST. */
const startOllama = async (models: unknown): Promise<string> => {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/api/tags' ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ models }))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const SHA = '4f8ed5b4d7a8'

const beginningOfHash = async (path: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path))
    .digest('hex')
    .slice(0, 12)

it('add copies a model in under its name and describes it; remove deletes it', async () => {
  const home = await emptyFolder()
  const svc = (...argv: string[]) => runInProcess(argv, { env: { SERVICE_HOME: home } })
  const path = await gguf()
  const sha256 = createHash('sha256').update('GGUF and more').digest('hex')
  expect(await svc('add', 'mine', path)).toEqual({
    exitCode: 0,
    stderr: '',
    stdout: `Added mine:q8_0 (gguf, 1 kB, sha256 ${sha256}).\nTry it: svc run mine:q8_0 "..."\n`,
  })
  expect((await svc('add', 'mine', path)).stdout).toContain('Replaced mine:q8_0 (gguf, ')
  expect(await readFile(join(home, 'models', 'mine', 'q8_0', 'tiny-q8_0.gguf'), 'utf8')).toBe('GGUF and more')
  expect(await svc('remove', 'mine')).toEqual({ exitCode: 0, stderr: '', stdout: 'Removed mine.\n' })
  expect(await svc('remove', 'mine')).toEqual({
    exitCode: 1,
    stderr: `svc: There is no model 'mine' in ${join(home, 'models')}.\n`,
    stdout: '',
  })
  expect((await svc('add', 'starter', path)).stderr).toContain("The name 'starter' belongs to the bundled model.")
  expect((await svc('add', 'text', 'README.md')).stderr).toContain('README.md is not a model')
})

it('add downloads an ONNX model with several files, and a GGUF file, from Hugging Face', async () => {
  const whisper = 'test/fixtures/models/tiny-whisper'
  const paths = (await readdir(whisper, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(whisper, join(entry.parentPath, entry.name)))
  const files = await Promise.all(
    paths.map(
      async (path) => [path, { bytes: await readFile(join(whisper, path)), large: path.endsWith('.onnx') }] as const,
    ),
  )
  const onnx = await startHub({
    ...Object.fromEntries(files),
    'README.md': { bytes: Buffer.from('not fetched'), large: false },
    'onnx/encoder_model_fp16.onnx': { bytes: Buffer.from('not fetched'), large: true },
  })
  const home = await emptyFolder()
  const add = (name: string, source: string, HF_ENDPOINT: string) =>
    runInProcess(['add', name, source], { env: { SERVICE_HOME: home, HF_ENDPOINT } })
  expect(await add('whisper-base', 'hf:org/tiny', onnx.endpoint)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^Added whisper-base:default \(onnx, .+\)\.\n$/),
  })
  const copied = await readdir(join(home, 'models'), { recursive: true })
  expect(paths.filter((path) => !copied.some((name) => name.endsWith(path)))).toEqual([])
  expect(copied.filter((name) => /README|fp16/.test(name))).toEqual([])
  expect(await readdir(join(home, 'downloads'))).toEqual([])

  // Downloads that were interrupted; only the second one has grown within the last week.
  const interrupted = ['a', 'b'].map((digit) => join(home, 'downloads', digit.repeat(16), 'onnx'))
  for (const folder of interrupted) {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, '.model.onnx.part'), 'x')
  }
  const eightDaysAgo = Date.now() / 1000 - 8 * 24 * 60 * 60
  const [abandoned] = interrupted
  for (const path of [
    join(abandoned!, '.model.onnx.part'),
    ...interrupted,
    ...interrupted.map((path) => dirname(path)),
  ])
    await utimes(path, eightDaysAgo, eightDaysAgo)

  const gguf = await startHub({ 'tiny-Q8_0.gguf': { bytes: Buffer.from('GGUF and more'), large: true } })
  expect(await add('tiny', 'hf:org/tiny', gguf.endpoint)).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^Added tiny:q8_0 \(gguf/),
  })
  expect(await readdir(join(home, 'downloads'))).toEqual(['b'.repeat(16)])
  expect(await add('other', 'hf:org/nothing', gguf.endpoint)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('has no model org/nothing'),
  })
})

it('add fetches the files that an ONNX graph keeps weights in, and refuses what cannot run before the download', async () => {
  const home = await emptyFolder()
  const entry = (name: string) => Buffer.from(`\n\x08location\x12${String.fromCharCode(name.length)}${name}`, 'latin1')
  // The second entry is at the end of a chunk in which files are read.
  const graph = Buffer.concat([entry('model.onnx.data'), Buffer.alloc(1024 ** 2 - 40), entry('weights.bin')])
  const settings = { 'config.json': '{}', 'tokenizer.json': '{}' }
  const kept = { 'onnx/model.onnx.data': 'a', 'onnx/weights.bin': 'b', 'onnx/other.bin': 'c' }
  const add = async (files: Readonly<Record<string, string | Buffer>>, source = 'hf:org/tiny') => {
    const entries = Object.entries(files).map(([path, bytes]) => [path, { bytes: Buffer.from(bytes), large: false }])
    const hub = await startHub(Object.fromEntries(entries))
    const env = { SERVICE_HOME: home, HF_ENDPOINT: hub.endpoint }
    const { exitCode, stderr } = await runInProcess(['add', 'bert', source], { env })
    const gets = (address: RegExp) => hub.seen.filter(({ method, url }) => method === 'GET' && address.test(url)).length
    return {
      exitCode,
      fault: stderr.split('\n')[0],
      lists: gets(/\/tree\/\w+\?recursive=true$/),
      downloads: gets(/\/resolve\//),
    }
  }
  expect(await add({ ...settings, 'onnx/model.onnx': graph, ...kept })).toMatchObject({ exitCode: 0, lists: 2 })
  const path = join(home, 'models', 'bert', 'default')
  const [folder] = (await readdir(path)).filter((name) => name !== 'model.json')
  expect((await readdir(join(path, folder!, 'onnx'))).sort()).toEqual(['model.onnx', 'model.onnx.data', 'weights.bin'])
  const cannot = 'svc: hf:org/tiny cannot run here: '
  expect([
    await add({ 'config.json': '{}', 'onnx/model.onnx': graph }),
    await add({ ...settings, 'onnx/model_O4.onnx': graph }),
  ]).toEqual([
    {
      exitCode: 1,
      fault: `${cannot}it has no tokenizer.json next to its config.json, which every ONNX model needs.`,
      lists: 1,
      downloads: 0,
    },
    {
      exitCode: 1,
      fault: `${cannot}model_O4.onnx alone is not a model that an engine opens (ONNX).`,
      lists: 1,
      downloads: 0,
    },
  ])
  const { metadata, tensors } = tinyLlama()
  const part = makeGguf({ metadata: { ...metadata, 'split.count': ['u32', 2] }, tensors })
  const name = 'm-00001-of-00002.gguf'
  expect(await add({ [name]: part }, `hf:org/tiny:${name}`)).toMatchObject({
    exitCode: 1,
    fault: `svc: hf:org/tiny:${name} is incomplete: m-00002-of-00002.gguf is missing from its folder. Download all parts.`,
  })
  expect(await readdir(join(home, 'downloads'))).toEqual([])
  expect(await add({ ...settings, 'onnx/model.onnx': entry('../../x'), '../x': 'd' })).toMatchObject({
    exitCode: 1,
    fault: "svc: The model names a file outside of its repository: '../x'.",
  })
})

it('list models shows models with their variants, damaged ones with the reason, and engines', async () => {
  const home = await emptyFolder()
  await addModel(home, { name: 'mine', path: await gguf(), source: 'here' })
  await addModel(home, { name: 'hurt', path: await gguf() })
  await rm(join(home, 'models', 'hurt', 'q8_0', 'model.json'))
  const PATH = await emptyFolder()
  await putDouble(PATH, 'mlx_lm.server')
  const svc = (...argv: string[]) => runInProcess(argv, { env: { SERVICE_HOME: home, PATH } })
  const { stdout, ...rest } = await svc('list', 'models')
  expect(rest).toEqual({ exitCode: 0, stderr: '' })
  expect(table(stdout)).toEqual([
    ['MODEL', 'VARIANT', 'FORMAT', 'SIZE', 'FROM', 'SHA256'],
    ['starter', 'q4_0', 'gguf', '1.5 MB', 'package', await beginningOfHash('models/starter.gguf')],
    ['hurt:q8_0', '-', 'damaged: model.json is missing', '-', '-', '-'],
    ['mine:q8_0', 'q8_0', 'gguf', '1 kB', 'here', expect.stringMatching(/^[0-9a-f]{12}$/)],
    ['ENGINE', 'INSTALLED', 'LOCATION, OR HOW TO INSTALL'],
    ['llama.cpp', 'yes', `@node-llama-cpp/${process.platform}-${process.arch}`],
    ['onnxruntime', 'no', 'svc engines install onnxruntime'],
    ['mlx-lm', 'yes', join(PATH, 'mlx_lm.server')],
    ['mlc-llm', 'no', 'see https://llm.mlc.ai/docs/install/mlc_llm.html'],
    ['mnn', 'no', 'see https://github.com/alibaba/MNN/tree/master/apps/mnncli'],
    ['vllm', 'no', 'pip install vllm'],
  ])
  const { folder, models } = JSON.parse((await svc('list', 'models', '--json')).stdout)
  expect({ folder, model: models[2], fault: models[1].fault }).toEqual({
    folder: join(home, 'models'),
    model: {
      name: 'mine:q8_0',
      variant: 'q8_0',
      format: 'gguf',
      size: 13,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      source: 'here',
      path: join(home, 'models', 'mine', 'q8_0', 'tiny-q8_0.gguf'),
      added_at: expect.stringMatching(/Z$/),
      fault: null,
    },
    fault: 'model.json is missing',
  })
})

it('models lists the models folder, Ollama, and the registry', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const key = world.service.firstAdminKey!
  await world.request('POST', '/api/v1/models', { key, body: { name: 'vision', framework: 'pytorch' } })
  const OLLAMA_MODELS = await emptyFolder()
  await mkdir(join(OLLAMA_MODELS, 'blobs'))
  const env = {
    SERVICE_HOME: await emptyFolder(),
    SERVICE_API_BASE: world.baseUrl,
    SERVICE_API_KEY: key,
    OLLAMA_MODELS,
    OLLAMA_HOST: await startOllama([
      { name: 'qwen3:0.6b', size: 522_653_767, digest: SHA, details: { quantization_level: 'Q4_K_M' } },
      { name: 'odd' },
      null,
    ]),
  }
  const { stdout, ...rest } = await runInProcess(['models'], { env, now: world.now })
  expect(rest).toEqual({
    exitCode: 0,
    stderr: `Ollama keeps the files of its models in ${join(OLLAMA_MODELS, 'blobs')}.\n`,
  })
  expect(table(stdout)).toEqual([
    ['SOURCE', 'MODEL', 'KIND', 'SIZE'],
    ['local', 'starter', 'q4_0', '1.5 MB'],
    ['ollama', 'qwen3:0.6b', 'Q4_K_M', '522.7 MB'],
    ['ollama', 'odd', '-', '0 kB'],
    ['registry', 'vision', 'pytorch', '-'],
  ])
  const registry = await runInProcess(['models', '--source', 'registry', '--json'], { env, now: world.now })
  expect(JSON.parse(registry.stdout)).toEqual({
    models: [{ source: 'registry', name: 'vision', kind: 'pytorch', size: null }],
    notes: [],
  })
  const search = async (text: string) => {
    const found = await runInProcess(['models', '--search', text, '--json'], { env, now: world.now })
    return (JSON.parse(found.stdout) as { models: { name: string }[] }).models.map(({ name }) => name)
  }
  expect(await search(' ViS')).toEqual(['vision'])
  expect(await search('3:')).toEqual(['qwen3:0.6b'])
  expect(await search('r')).toEqual(['starter'])
  const nothing = await runInProcess(['models', '--search', 'x%', '--source', 'registry'], { env, now: world.now })
  expect(nothing).toEqual({ exitCode: 0, stdout: '', stderr: "No model's name contains 'x%'.\n" })
})

it('a source without models says so, and how to get one', async () => {
  const world = await startWorld({ config: { enrollment: 'token' } })
  const env = {
    SERVICE_HOME: await emptyFolder(),
    SERVICE_API_BASE: world.baseUrl,
    SERVICE_API_KEY: world.service.firstAdminKey!,
    OLLAMA_MODELS: await emptyFolder(),
    OLLAMA_HOST: await startOllama([]),
  }
  const of = (source: string) => runInProcess(['models', '--source', source], { env, now: world.now })
  expect(await of('registry')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: `The catalog of ${world.baseUrl} has no models. Add one with: svc push\n`,
  })
  expect(await of('ollama')).toEqual({
    exitCode: 0,
    stdout: '',
    stderr: 'Ollama has no models. Download one with: ollama pull <name>\n',
  })
})

it('an unavailable source is a note if there are others, and a failure if it is the only one', async () => {
  const env = { SERVICE_HOME: await emptyFolder(), OLLAMA_HOST: '127.0.0.1:1', OLLAMA_MODELS: await emptyFolder() }
  const { stdout, stderr, exitCode } = await runInProcess(['models'], { env })
  expect({ exitCode, stderr, rows: table(stdout) }).toEqual({
    exitCode: 0,
    stderr:
      'Ollama cannot be listed: nothing responds at http://127.0.0.1:1 (OLLAMA_HOST).\n' +
      'The catalog cannot be listed: This needs an API key for http://127.0.0.1:8000, and you are not signed in.\n',
    rows: [
      ['SOURCE', 'MODEL', 'KIND', 'SIZE'],
      ['local', 'starter', 'q4_0', '1.5 MB'],
    ],
  })
  const other = await startOllama('none')
  expect(await runInProcess(['models', '--source', 'ollama'], { env: { ...env, OLLAMA_HOST: other } })).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: `svc: Ollama cannot be listed: the program at http://${other} is not Ollama.\n`,
  })
  const stranger = await runInProcess(['models'], {
    env: { ...env, SERVICE_API_KEY: 'k', SERVICE_API_BASE: `http://${other}/none` },
  })
  expect(stranger.stderr).toMatch(/The catalog cannot be listed: .* Is the address correct\?\n/)
  const registry = await runInProcess(['models', '--source', 'registry'], { env })
  expect([registry.exitCode, registry.stdout]).toEqual([1, ''])
  expect(registry.stderr).toContain('you are not signed in')
})

it('parses OLLAMA_HOST like Ollama', () => {
  const read = (OLLAMA_HOST?: string) => ollamaAddress({ OLLAMA_HOST })
  expect([undefined, '', '0.0.0.0', 'box', 'box:99', 'https://ollama.example', 'http://box:1'].map(read)).toEqual([
    'http://127.0.0.1:11434',
    'http://127.0.0.1:11434',
    'http://127.0.0.1:11434',
    'http://box:11434',
    'http://box:99',
    'https://ollama.example',
    'http://box:1',
  ])
  expect(() => read('http://user:secret@box')).toThrow('OLLAMA_HOST contains a user name or password')
  expect(() => read('user:secret@bo x')).toThrow('OLLAMA_HOST is not an address, such as 127.0.0.1:11434')
})
