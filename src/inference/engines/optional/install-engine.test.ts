import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { installEngine, removeEngine } from './install-engine.ts'
import { engineState, llamaGpuModule, requireEngine } from './installed-engine.ts'
import { enginesFolder, LLAMA_VERSION, type OptionalEngine, VULKAN } from './optional-engine.ts'

const PART: OptionalEngine = {
  folder: 'thing',
  names: ['thing'],
  packages: { 'the-thing': '1.2.3' },
  module: { name: 'the-thing', file: 'index.mjs' },
  megabytes: 1,
  npmrc: [],
  unused: ['the-thing/unused'],
}

/** A file in a tar archive: POSIX.1-1988, section "ustar". */
const tarEntry = (name: string, content: string): Buffer => {
  const head = Buffer.alloc(512)
  const octal = (value: number, at: number, length: number) =>
    void head.write(value.toString(8).padStart(length - 1, '0'), at)
  head.write(`package/${name}`)
  octal(0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(content.length, 124, 12)
  octal(0, 136, 12)
  head.write(' '.repeat(8), 148)
  head.write('0', 156)
  head.write('ustar\x0000', 257)
  octal(
    head.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  return Buffer.concat([head, Buffer.from(content), Buffer.alloc((512 - (content.length % 512)) % 512)])
}

/** A registry with one package, which contains a module with the text `source`. */
let source = 'export const thing = 1'
let installs = 0
let registry: Server
let address = ''

const tarball = (): Buffer => {
  const manifest = { name: 'the-thing', version: '1.2.3', scripts: { postinstall: 'exit 1' } }
  const files = [
    tarEntry('package.json', JSON.stringify(manifest)),
    tarEntry('index.mjs', source),
    tarEntry('unused/large.bin', 'x'.repeat(5000)),
  ]
  return gzipSync(Buffer.concat([...files, Buffer.alloc(1024)]))
}

beforeAll(async () => {
  registry = createServer((request, response) => {
    const archive = tarball()
    if (request.url === '/the-thing.tgz') {
      installs += 1
      response.end(archive)
    } else if (request.url === '/the-thing') {
      const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`
      const dist = { tarball: `${address}/the-thing.tgz`, integrity }
      const version = { name: 'the-thing', version: '1.2.3', dist }
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ name: 'the-thing', 'dist-tags': { latest: '1.2.3' }, versions: { '1.2.3': version } }),
      )
    } else {
      response.statusCode = 404
      response.end('{}')
    }
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`
})
afterAll(() => registry.close())

const start = async () => {
  const folder = await emptyFolder()
  const engines = join(folder, 'engines')
  const notes: string[] = []
  const options = {
    engines,
    env: { ...process.env, npm_config_registry: address, npm_config_cache: join(folder, 'cache') },
    signal: new AbortController().signal,
    note: (line: string) => void notes.push(line),
  }
  return { engines, notes, options }
}

test('an engine installed twice at the same time is complete, without install scripts or unused files', async () => {
  const { engines, notes, options } = await start()
  source = 'export const thing = 1'
  installs = 0
  const [one, other] = await Promise.all([installEngine(PART, options), installEngine(PART, options)])
  const folder = join(engines, 'thing')
  const modulePath = join(folder, 'node_modules', 'the-thing', 'index.mjs')
  expect(one).toEqual({ state: 'installed', folder, modulePath, bytes: expect.any(Number) })
  expect(other).toEqual(one)
  expect(await requireEngine(PART, engines)).toBe(modulePath)
  expect(notes).toEqual(Array(2).fill(`npm installs the-thing@1.2.3 into ${folder} (about 1 MB).`))
  const fetched = installs
  expect(await installEngine(PART, options)).toEqual(one)
  expect(installs).toBe(fetched)
  expect(await readdir(engines)).toEqual(['thing'])
  expect((await readdir(join(folder, 'node_modules', 'the-thing'))).sort()).toEqual(['index.mjs', 'package.json'])
  expect(await readFile(modulePath, 'utf8')).toBe(source)
})

test('an engine that cannot be loaded is not installed, and leaves nothing behind', async () => {
  const { engines, options } = await start()
  source = "throw new Error('no library for this system')"
  await expect(installEngine(PART, options)).rejects.toMatchObject({
    code: 'engine_failed',
    message: expect.stringContaining('no library for this system'),
  })
  expect(await readdir(engines)).toEqual([])
  expect(await engineState(PART, engines)).toEqual({ state: 'missing' })
})

test("npm's output is shown when it fails", async () => {
  const { engines, options } = await start()
  const unknown = { ...PART, packages: { 'no-such-thing': '1.0.0' } }
  await expect(installEngine(unknown, options)).rejects.toMatchObject({
    code: 'engine_failed',
    message: expect.stringMatching(/npm install .* ended with code 1\. Its output:\n.*no-such-thing/s),
  })
  expect(await readdir(engines)).toEqual([])
})

test('a damaged engine is reported, reinstalling replaces it, and removing it leaves nothing behind', async () => {
  const { engines, options } = await start()
  source = 'export const thing = 2'
  const folder = join(engines, 'thing')
  await mkdir(join(folder, 'node_modules', 'the-thing'), { recursive: true })
  await writeFile(join(folder, 'node_modules', 'the-thing', 'package.json'), '{"version":"1.0.0"}')
  await expect(requireEngine(PART, engines)).rejects.toMatchObject({
    code: 'engine_missing',
    message: `thing in ${folder} is damaged: it has the-thing 1.0.0 instead of 1.2.3. Install it again: svc engines install thing`,
  })
  // A leftover of a killed process.
  await mkdir(join(engines, '.adding-abcdef'))
  await utimes(join(engines, '.adding-abcdef'), 1, 1)
  expect((await installEngine(PART, options)).state).toBe('installed')
  expect(await readdir(engines)).toEqual(['thing'])
  expect([await removeEngine(PART, engines), await removeEngine(PART, engines)]).toEqual([true, false])
  expect(await readdir(engines)).toEqual([])
})

test("an installed llama.cpp build for graphics cards is used if it has this program's version", async () => {
  const { engines } = await start()
  expect(await llamaGpuModule(engines)).toBe(null)
  const folder = join(engines, VULKAN.folder, 'node_modules', VULKAN.module.name)
  await mkdir(join(folder, 'dist'), { recursive: true })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ version: LLAMA_VERSION }))
  await writeFile(join(folder, 'dist', 'index.js'), '')
  expect(await llamaGpuModule(engines)).toBe(join(folder, 'dist', 'index.js'))
  const { optionalDependencies } = JSON.parse(await readFile('package.json', 'utf8'))
  expect(new Set(Object.values(optionalDependencies))).toEqual(new Set([LLAMA_VERSION]))
})

test("optional engines are in the user's folder", () => {
  expect(enginesFolder({ SERVICE_HOME: '/home/of/svc' })).toBe(join('/home/of/svc', 'engines'))
  expect(enginesFolder({})).toMatch(/\.svc.engines$/)
})
