import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { formOf, startWorld } from '../../../test/world.ts'
import { addModel } from '../../inference/models/change-models.ts'
import { sha256Of, startHub, startRegistry } from '../../inference/sources/loopback-hub.fixture.ts'
import { runInProcess } from '../in-process.fixture.ts'

const STARTER = 'models/starter.gguf'
const FRANCE = 'What is the capital of France?'
const PARIS = 'The capital of France is Paris.\n'

it('run downloads a Hugging Face model once, and then runs it offline', async () => {
  const hub = await startHub({ 'tiny-Q4_0.gguf': { bytes: await readFile(STARTER), large: true } })
  const SERVICE_HOME = await emptyFolder()
  const run = (HF_ENDPOINT: string) =>
    runInProcess(['run', 'hf:org/tiny:q4_0', FRANCE, '--temperature', '0'], { env: { SERVICE_HOME, HF_ENDPOINT } })
  // The download is interrupted once and resumes.
  hub.cuts.push(500_000)
  const first = await run(hub.endpoint)
  expect(first).toMatchObject({ exitCode: 0, stdout: PARIS })
  expect(first.stderr).toContain('hf:org/tiny:q4_0 is now here as tiny:q4_0.\n')
  expect(hub.seen.some(({ range }) => range?.startsWith('bytes='))).toBe(true)
  expect(await run('http://127.0.0.1:1')).toEqual({ exitCode: 0, stdout: PARIS, stderr: '' })
})

it('pull downloads Ollama models without a service, to the models folder or a given folder', async () => {
  const weights = await readFile(STARTER)
  const registry = await startRegistry(weights)
  const SERVICE_HOME = await emptyFolder()
  const cwd = await emptyFolder()
  const env = { SERVICE_HOME, OLLAMA_REGISTRY: registry.address }
  const pull = (...more: string[]) => runInProcess(['pull', 'ollama:tiny', ...more], { env, cwd })
  const { exitCode, stdout } = await pull('--json')
  expect(exitCode).toBe(0)
  const { name, model_hash, already_there } = JSON.parse(stdout)
  expect({ model_hash, already_there }).toEqual({ model_hash: `sha256:${sha256Of(weights)}`, already_there: false })
  expect(JSON.parse((await pull('--json')).stdout)).toMatchObject({ name, already_there: true })
  expect((await pull('-o', 'here')).exitCode).toBe(0)
  const [file] = await readdir(join(cwd, 'here'))
  expect((await readFile(join(cwd, 'here', file!))).equals(weights)).toBe(true)
  expect(await pull('--version', '2')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--version') })
})

it('run, embed and pull show what the name of a source looks like if it is invalid', async () => {
  const env = { SERVICE_HOME: await emptyFolder() }
  const advice = 'Names look like hf:org/model, hf:org/model@revision:file.gguf, ollama:name, or ollama:name:tag.'
  for (const source of ['ollama:', 'ollama:../../x', 'hf:../x/y'])
    for (const words of [
      ['run', source, 'hi'],
      ['embed', source, 'hi'],
      ['pull', source],
    ])
      expect(await runInProcess(words, { env })).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: `svc: '${source}' is not the name of a model.\n${advice}\n`,
      })
})

it('refuses a name that belongs to a model from another source', async () => {
  const SERVICE_HOME = await emptyFolder()
  await addModel(SERVICE_HOME, { name: 'tiny', path: STARTER })
  const ran = await runInProcess(['pull', 'hf:org/tiny'], { env: { SERVICE_HOME, HF_ENDPOINT: 'http://127.0.0.1:1' } })
  expect(ran).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('svc add <name> hf:org/tiny') })
  const added = await runInProcess(['models', 'add', 'other', STARTER], { env: { SERVICE_HOME } })
  expect(added.stdout).toContain('Added other:default (gguf')
})

it('run and serve accept catalog names: each version is pulled once, and again when an alias moves', async () => {
  const world = await startWorld()
  const { key } = await world.register('operator')
  const net = '/api/v1/models/net'
  await world.request('POST', '/api/v1/models', { key, body: { name: 'net' } })
  const upload = (fileName: string, bytes: Buffer, version_label: string) =>
    world.request('POST', `${net}/versions/upload`, { key, body: formOf(bytes, { version_label }, fileName) })
  await upload('a.gguf', await readFile(STARTER), '1.0.0')
  await upload('w.onnx', Buffer.from('not a language model'), '2.0.0')
  await world.request('PUT', `${net}/aliases/production`, { key, body: { version: '1.0.0' } })
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key, SERVICE_API_BASE: world.baseUrl }
  const run = (name: string, more = {}, prompt = FRANCE) =>
    runInProcess(['run', name, prompt, '--temperature', '0'], { env: { ...env, ...more } })
  /** What it says of the model; without the standard input that it is told to read, it does not start an engine. */
  const noted = async (name: string, more = {}) => {
    const { exitCode, stderr } = await run(name, more, '-')
    return [exitCode, stderr.replace(/svc: There is no standard input [\s\S]*/, '')]
  }
  const pulled = { exitCode: 0, stdout: PARIS, stderr: 'net@1.0.0 is now here as net:1.0.0.\n' }
  expect(await run('net@production')).toEqual(pulled)
  const quiet = { ...pulled, stderr: '' }
  expect(await run('net@1')).toEqual(quiet)
  expect([await noted('net@1.0.0'), await noted('net:1.0.0')]).toEqual([
    [2, ''],
    [2, ''],
  ])
  // A name without a version is the latest, regardless of local versions.
  expect(await run('net')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('net@2.0.0 is a .onnx file') })
  expect(await run('net@9')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('It has 1.0.0') })
  expect(await run('neither')).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("no model 'neither'") })

  await upload('b.gguf', await readFile(STARTER), '3.0.0')
  expect(await run('net')).toEqual({ ...pulled, stderr: 'net@3.0.0 is now here as net:3.0.0.\n' })
  const offline = await run('net', { SERVICE_API_BASE: 'http://127.0.0.1:1' })
  expect(offline).toMatchObject({ stdout: PARIS, stderr: expect.stringContaining('Using net:3.0.0') })
  const using = async (name: string) => (await noted(name, { SERVICE_API_BASE: 'http://127.0.0.1:1' }))[1]
  expect(await using('net@production')).toContain('Using net:3.0.0')
  expect([await using('net@1.0.0'), await using('net@1')]).toEqual([
    expect.stringContaining('Using net:1.0.0'),
    expect.stringContaining('Using net:1.0.0'),
  ])
  expect(await using('net@2.0.0')).not.toContain('Using')
  expect(await using('startr')).toMatch(
    /^Cannot reach .*\nsvc: There is no model 'startr'\. Models: starter, net:1\.0\.0/,
  )
  await upload('c.gguf', await readFile(STARTER), '4.0.0-RC.1+b.1')
  expect((await noted('net@4.0.0-RC.1+b.1'))[1]).toContain('is now here as net:4.0.0_rc.1_b.1.')
  expect(await using('net@4.0.0-RC.1+b.1')).toContain('Using net:4.0.0_rc.1_b.1')
  const signedOut = (name: string) => run(name, { SERVICE_API_KEY: '' })
  expect(await signedOut('net')).toEqual(quiet)
  expect(await noted('net@1.0.0', { SERVICE_API_KEY: '' })).toEqual([2, ''])
  expect((await signedOut('net@2.0.0')).stderr).toContain(
    'Only the catalog of a service has versions and aliases.\nSign in',
  )
  expect((await run('other@2.0.0')).stderr).toContain('aliases.\nList local models with: svc list models\n')
})
