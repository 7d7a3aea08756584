import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { InferenceError } from '../errors.ts'
import { addModel, removeModel } from './change-models.ts'
import { makeGguf, tinyLlama } from './gguf/write-gguf.fixture.ts'
import { findModel, listModels } from './model-folder.ts'

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../../test/fixtures/models/${name}`, import.meta.url))
const STARTER_PATH = fileURLToPath(new URL('../../../models/starter.gguf', import.meta.url))

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

const now = new Date('2026-11-21T00:00:00Z')

const messageOf = async (promise: Promise<unknown>): Promise<readonly [string, string]> => {
  const error: unknown = await promise.catch((thrown: unknown) => thrown)
  if (!(error instanceof InferenceError)) throw error
  return [error.code, error.message]
}

const names = async (home: string): Promise<readonly string[]> =>
  (await listModels(home)).map((listed) =>
    listed.state === 'ready' ? listed.model.name : `${listed.name} damaged: ${listed.fault}`,
  )

/** Creates a small file that begins like a GGUF file. */
const tinyGguf = async (name: string, bytes: number): Promise<string> => {
  const path = join(await emptyFolder(), name)
  await writeFile(path, Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(bytes - 4)]))
  return path
}

const partOf = (count: number, number: number): Buffer => {
  const { metadata, tensors } = tinyLlama()
  const split = { 'split.count': ['u32', count], 'split.no': ['u32', number] } as const
  return makeGguf({ metadata: { ...metadata, ...split }, tensors })
}

it('the starter model is always available, also as starter:4bit', async () => {
  const home = await emptyFolder()
  const file = await readFile(STARTER_PATH)
  const made = { bytes: file.length, sha256: sha256(file), source: 'package' }
  const starter = { variant: 'q4_0', path: STARTER_PATH, format: 'gguf', ...made }
  expect(await findModel('starter', home)).toEqual({ name: 'starter', ...starter })
  expect(await findModel('starter:4bit', home)).toEqual({ name: 'starter:4bit', ...starter })
  expect(await messageOf(findModel('starter:8bit', home))).toEqual([
    'model_not_found',
    "The model 'starter' has no variant '8bit'. Variants: starter:q4_0.",
  ])
  expect(await names(home)).toEqual(['starter'])
})

it('an added file is stored with its size and hash, and is found by name and by bits', async () => {
  const home = join(await emptyFolder(), 'new')
  const source = fixture('tiny-chat-q8_0.gguf')
  const bytes = await readFile(source)
  const added = await addModel(home, { name: 'tiny', path: source, now })
  // Keys are stored next to the models.
  expect((await stat(home)).mode & 0o777).toBe(0o700)
  const path = join(home, 'models', 'tiny', 'q8_0', 'tiny-chat-q8_0.gguf')
  const model = { variant: 'q8_0', path, format: 'gguf', bytes: bytes.length, sha256: sha256(bytes), source }
  expect(added).toEqual({ name: 'tiny:q8_0', ...model, isReplacement: false })
  expect((await readFile(path)).equals(bytes)).toBe(true)
  expect(JSON.parse(await readFile(join(home, 'models', 'tiny', 'q8_0', 'model.json'), 'utf8'))).toEqual({
    name: 'tiny',
    variant: 'q8_0',
    file: 'tiny-chat-q8_0.gguf',
    size: bytes.length,
    sha256: sha256(bytes),
    source,
    added_at: '2026-11-21T00:00:00.000Z',
  })
  for (const name of ['tiny', 'TINY', 'tiny:8bit', 'tiny:Q8_0'])
    expect(await findModel(name, home)).toEqual({ name, ...model })
  expect(await readdir(join(home, 'models'))).toEqual(['tiny'])
})

it('a folder is added whole, with the hash of its sha256sum listing', async () => {
  const home = await emptyFolder()
  const source = await emptyFolder()
  await mkdir(join(source, 'onnx'))
  await mkdir(join(source, '.git'))
  await writeFile(join(source, 'config.json'), '{}')
  await writeFile(join(source, 'tokenizer.json'), '{}')
  await writeFile(join(source, 'onnx', 'model.onnx'), 'weights')
  await writeFile(join(source, '.git', 'HEAD'), 'ref')
  const { name, format, bytes, sha256: hash, path } = await addModel(home, { name: 'bert', path: source })
  const listing = `${sha256('{}')}  config.json\n${sha256('weights')}  onnx/model.onnx\n${sha256('{}')}  tokenizer.json\n`
  expect({ name, format, bytes, hash }).toEqual({
    name: 'bert:default',
    format: 'onnx',
    bytes: 11,
    hash: sha256(listing),
  })
  const copied = ['config.json', 'onnx', 'onnx/model.onnx', 'tokenizer.json']
  expect((await readdir(path, { recursive: true })).sort()).toEqual(copied)
  await rm(join(source, 'tokenizer.json'))
  const onnx = join(source, 'onnx', 'model.onnx')
  expect([
    await messageOf(addModel(home, { name: 'b', path: source })),
    await messageOf(addModel(home, { name: 'b', path: onnx })),
  ]).toEqual([
    ['invalid_model', `${source} has no tokenizer.json, which every ONNX model needs. Add it to the folder.`],
    ['invalid_model', expect.stringContaining(`${onnx} is one file of an ONNX model. Give the path of the folder`)],
  ])
})

it('a GGUF model in several files is added with all of them, from its folder or any file', async () => {
  const home = await emptyFolder()
  const source = await emptyFolder()
  const [first, second] = ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'].map((name) => join(source, name))
  const contents = [partOf(2, 0), partOf(2, 1)]
  const size = contents[0]!.length + contents[1]!.length
  await writeFile(first!, contents[0]!)
  await writeFile(second!, contents[1]!)
  await writeFile(join(source, 'README.md'), 'x')
  const [one, two] = contents.map(sha256)
  const hash = sha256(`${one}  m-00001-of-00002.gguf\n${two}  m-00002-of-00002.gguf\n`)
  for (const path of [source, first!, second!]) {
    const added = await addModel(home, { name: 'm', path })
    expect(added).toMatchObject({ bytes: size, sha256: hash, path: expect.stringMatching(/m-00001-of-00002\.gguf$/) })
    expect((await readdir(join(added.path, '..'))).sort()).toEqual([basename(first!), basename(second!), 'model.json'])
    expect(await findModel('m', home)).toMatchObject({ bytes: size, path: added.path })
  }
  expect((await findModel(first!, home)).bytes).toBe(size)
  await rm(second!)
  expect(await messageOf(addModel(home, { name: 'm', path: first! }))).toEqual([
    'invalid_model',
    `${first} is incomplete: m-00002-of-00002.gguf is missing from its folder. Download all parts.`,
  ])
})

it('refuses a file that is GGUF only by its name', async () => {
  const home = await emptyFolder()
  const path = join(await emptyFolder(), 'page.gguf')
  for (const [text, fault] of [
    ['<html>', "The model file 'page.gguf' is not a GGUF file: it begins with '<htm', not with 'GGUF'."],
    ['', expect.stringContaining("The model file 'page.gguf' ")],
  ] as const) {
    await writeFile(path, text)
    expect(await messageOf(addModel(home, { name: 'm', path }))).toEqual(['invalid_model', fault])
  }
  expect(await readdir(home)).toEqual([])
})

it('whether a GGUF file is part of a model is in its header: parts may be renamed, and merged models keep the name', async () => {
  const home = await emptyFolder()
  const source = await emptyFolder()
  const [merged, renamed] = ['m-00001-of-00002.gguf', 'renamed.gguf'].map((name) => join(source, name))
  await writeFile(merged!, partOf(1, 0))
  await writeFile(renamed!, partOf(2, 0))
  expect(await addModel(home, { name: 'm', path: merged! })).toMatchObject({ sha256: sha256(partOf(1, 0)) })
  expect(await messageOf(addModel(home, { name: 'm', path: renamed! }))).toEqual([
    'invalid_model',
    `${renamed} is one of 2 parts of a model, whose names must end in -00001-of-00002.gguf and so on. Rename them.`,
  ])
})

it('adding again replaces the same variant, and removing deletes one variant or all', async () => {
  const home = await emptyFolder()
  await addModel(home, { name: 'm', path: await tinyGguf('a-q4_0.gguf', 10) })
  await addModel(home, { name: 'm', path: await tinyGguf('b-q4_0.gguf', 20) })
  await addModel(home, { name: 'm:q8_0', path: await tinyGguf('c.gguf', 30) })
  await Promise.all([1, 2, 3].map(async (n) => addModel(home, { name: 'n', path: await tinyGguf('n.gguf', 10 + n) })))
  expect(await names(home)).toEqual(['starter', 'm:q4_0', 'm:q8_0', 'n:default'])
  expect((await findModel('m', home)).bytes).toBe(20)
  expect(await messageOf(findModel('m:f16', home))).toEqual([
    'model_not_found',
    "The model 'm' has no variant 'f16'. Variants: m:q4_0, m:q8_0.",
  ])
  await removeModel(home, 'm:q4_0')
  expect(await names(home)).toEqual(['starter', 'm:q8_0', 'n:default'])
  await removeModel(home, 'm:q8_0')
  await removeModel(home, 'n')
  expect(await readdir(join(home, 'models'))).toEqual([])
  expect(await messageOf(removeModel(home, 'n'))).toEqual([
    'model_not_found',
    `There is no model 'n' in ${join(home, 'models')}.`,
  ])
})

it('damaged entries are listed with their faults and can be removed', async () => {
  const home = await emptyFolder()
  const folder = join(home, 'models')
  for (const name of ['cut', 'gone', 'nojson', 'notjson', 'nohash', 'escape'])
    await addModel(home, { name, path: await tinyGguf('w.gguf', 10) })
  const at = (name: string, file: string): string => join(folder, name, 'default', file)
  await truncate(at('cut', 'w.gguf'), 5)
  await rm(at('gone', 'w.gguf'))
  await rm(at('nojson', 'model.json'))
  await writeFile(at('notjson', 'model.json'), '{"name":')
  const entry = JSON.parse(await readFile(at('nohash', 'model.json'), 'utf8'))
  await writeFile(at('nohash', 'model.json'), JSON.stringify({ ...entry, sha256: 7 }))
  await writeFile(at('escape', 'model.json'), JSON.stringify({ ...entry, file: '../w.gguf' }))
  await mkdir(join(folder, 'empty'))
  await writeFile(join(folder, 'stray.txt'), 'x')
  expect(await names(home)).toEqual([
    'starter',
    'cut:default damaged: w.gguf has 5 bytes instead of 10',
    'empty damaged: it contains neither a model nor a variant with a model.json',
    'escape:default damaged: file in model.json is not in its folder',
    'gone:default damaged: w.gguf is missing',
    'nohash:default damaged: sha256 is missing in model.json',
    'nojson:default damaged: model.json is missing',
    'notjson:default damaged: model.json is not JSON',
  ])
  expect(await messageOf(findModel('cut', home))).toEqual([
    'invalid_model',
    `The model 'cut:default' in ${join(folder, 'cut', 'default')} is damaged: w.gguf has 5 bytes instead of 10.`,
  ])
  for (const name of ['cut', 'gone', 'nojson', 'notjson', 'nohash', 'escape', 'empty']) await removeModel(home, name)
  expect(await names(home)).toEqual(['starter'])
})

it('a file or folder that the user put there by hand is a model, too', async () => {
  const home = await emptyFolder()
  const folder = join(home, 'models')
  await mkdir(join(folder, 'mlx', 'sub'), { recursive: true })
  await writeFile(join(folder, 'mlx', 'config.json'), '{}')
  await writeFile(join(folder, 'mlx', 'model.safetensors'), 'weights')
  await writeFile(join(folder, 'phi-q8_0.gguf'), 'GGUF')
  await writeFile(join(folder, 'notes.txt'), 'x')
  const byHand = { sha256: null, source: 'by hand' }
  const gguf = { variant: 'q8_0', path: join(folder, 'phi-q8_0.gguf'), format: 'gguf', bytes: 4 }
  const mlx = { variant: null, path: join(folder, 'mlx'), format: 'mlx', bytes: 9 }
  expect([await findModel('phi-q8_0', home), await findModel('mlx', home)]).toEqual([
    { name: 'phi-q8_0', ...gguf, ...byHand },
    { name: 'mlx', ...mlx, ...byHand },
  ])
  expect(await names(home)).toEqual(['starter', 'mlx', 'phi-q8_0'])
  await removeModel(home, 'phi-q8_0')
  await removeModel(home, 'mlx')
  expect(await names(home)).toEqual(['starter'])
})

it('a model that could not be added leaves nothing behind', async () => {
  const home = await emptyFolder()
  const stop = new AbortController()
  stop.abort(new Error('stopped'))
  const path = await tinyGguf('w.gguf', 10)
  await expect(addModel(home, { name: 'm', path, signal: stop.signal })).rejects.toThrow()
  expect(await readdir(join(home, 'models'))).toEqual([])
  expect(await messageOf(addModel(home, { name: 'starter', path }))).toEqual([
    'invalid_request',
    "The name 'starter' belongs to the bundled model. Choose another.",
  ])
})

it('paths work wherever names do', async () => {
  const home = await emptyFolder()
  const path = await tinyGguf('w-q8_0.gguf', 10)
  const folder = join(path, '..')
  const found = { variant: 'q8_0', path, format: 'gguf', bytes: 10, sha256: null, source: 'path' }
  for (const text of [path, folder, './w-q8_0.gguf', 'w-q8_0.gguf'])
    expect(await findModel(text, home, folder)).toEqual({ name: 'w-q8_0', ...found })
  expect((await findModel(fixture('tiny-bert'), home)).format).toBe('onnx')
})

it('an unknown name gives an error that lists the models', async () => {
  const home = await emptyFolder()
  await addModel(home, { name: 'mine', path: await tinyGguf('w.gguf', 10) })
  const ask = (text: string) => messageOf(findModel(text, home, home))
  expect(await ask('qwen3')).toEqual([
    'model_not_found',
    "There is no model 'qwen3'. Models: starter, mine:default. Give hf:org/model, ollama:name, or the path of a GGUF file or a model folder, or put one in " +
      `${join(home, 'models')}.`,
  ])
  expect(await ask('./x.gguf')).toEqual(['model_not_found', `There is no file or folder ${join(home, 'x.gguf')}.`])
  for (const address of ['hf.co/org/model-GGUF:Q8_0', 'https://huggingface.co/org/model-GGUF/tree/main'])
    expect((await ask(address))[1]).toMatch(/ For the model on Hugging Face, give hf:org\/model-GGUF(:Q8_0)?\.$/)
  for (const text of ['a:b:c', 'a b', '', 'nul', 'x'.repeat(300), 'a:..'])
    expect((await ask(text))[0]).toBe('model_not_found')
})

it('a path is recognized by its content, or refused', async () => {
  const home = await emptyFolder()
  const ask = async (files: Readonly<Record<string, string>>): Promise<string> => {
    const folder = await emptyFolder()
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
    return findModel(`${folder}/`, home).then(
      ({ format }) => format,
      (error: Error) => error.message.replaceAll(folder, 'F'),
    )
  }
  const advice = 'Models are GGUF files and ONNX, MLX, MLC, or MNN folders.'
  expect([
    await ask({ 'config.json': '{}', 'model.safetensors': '' }),
    await ask({ 'mlc-chat-config.json': '{}', 'params_shard_0.bin': '' }),
    await ask({ 'config.json': '{"llm_model":"llm.mnn"}', 'llm.mnn': '' }),
    await ask({ 'model.onnx': '' }),
    await ask({ 'm-00001-of-00002.gguf': 'GGUF', 'm-00002-of-00002.gguf': 'GGUF' }),
    await ask({ 'a.gguf': 'GGUF', 'b.gguf': 'GGUF' }),
    await ask({ 'model.safetensors': '' }),
    await ask({}),
    await ask({ 'README.md': '' }),
  ]).toEqual([
    'mlx',
    'mlc',
    'mnn',
    'onnx',
    'gguf',
    `F is not a model: it contains several (a.gguf, b.gguf, ...): give the path of one of them. ${advice}`,
    `F is not a model: there is no config.json next to its safetensors. ${advice}`,
    `F is not a model: the folder is empty. ${advice}`,
    `F is not a model: it contains no known file. ${advice}`,
  ])
})

it.skipIf(process.platform === 'win32')('a pipe or a device is not a model, and is not opened', async () => {
  const home = await emptyFolder()
  const pipe = join(home, 'model.gguf')
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0)
  for (const path of [pipe, '/dev/null'])
    await expect(findModel(path, home)).rejects.toMatchObject({
      code: 'invalid_model',
      message: `${path} is not a model: it is neither a regular file nor a folder. Models are GGUF files and ONNX, MLX, MLC, or MNN folders.`,
    })
})
