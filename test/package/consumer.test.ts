import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorld } from '../world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TSC = join(ROOT, 'node_modules/typescript-7/bin/tsc')
// Checks the package's declarations, but not the compiler's own.
const STRICT = [
  '--strict',
  '--exactOptionalPropertyTypes',
  '--skipDefaultLibCheck',
  '--target',
  'es2023',
  '--types',
  'node',
]

let project = ''

/** Runs a program and returns its standard output; if it fails, the error contains its standard output and standard error. */
const run = async (program: string, args: readonly string[], cwd: string): Promise<string> => {
  // The tests run from .ts sources; the package must not need that.
  const env = { ...process.env, NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 2 ** 26 }).catch(
    ({ stdout, stderr, message }) => Promise.reject(new Error(`${message}\n${stdout}${stderr}`)),
  )
  return stdout
}

const node = (...args: readonly string[]): Promise<string> => run(process.execPath, args, project)

/** Installs the package and its dependencies, but nothing else from this repository's node_modules. */
const install = (): void => {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    const link = join(project, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), link)
  }
}

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'tributary-consumer-'))
  await run(process.execPath, [join(ROOT, 'scripts/build.mjs')], ROOT)
  const packed = await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', project], ROOT)
  const home = join(project, 'node_modules/tributary')
  mkdirSync(home, { recursive: true })
  await run('tar', ['-xzf', join(project, packed.trim()), '--strip-components', '1', '-C', home], project)
  install()
  cpSync(join(ROOT, 'test/package/consumer'), join(project, 'src'), { recursive: true })
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'consumer', type: 'module', private: true }))
}, 180_000)

afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('a project that installed the packed package', () => {
  it('type-checks against every entry point and runs under nodenext', async () => {
    await node(TSC, ...STRICT, '--module', 'nodenext', '--outDir', 'out', 'src/main.ts')
    const { baseUrl } = await startWorld()
    expect(JSON.parse(await node('out/main.js', baseUrl, project))).toEqual({
      round: 'active',
      numSamples: 4,
      refusal: 'unauthorized',
      pendingAfterwards: null,
      median: { w: [2, 0.5] },
    })
  })

  it('type-checks against every entry point under a bundler', async () => {
    // The declarations themselves are checked above.
    const modules = ['--skipLibCheck', '--module', 'esnext', '--moduleResolution', 'bundler', '--noEmit']
    expect(await node(TSC, ...STRICT, ...modules, 'src/main.ts')).toBe('')
  })

  it('bundles the SDK, the client, and the weight files for browsers, without Node modules', async () => {
    const { metafile } = await build({
      entryPoints: ['sdk', 'client', 'tensors'].map((name) => join(project, 'src', `${name}.ts`)),
      outdir: join(project, 'bundle'),
      bundle: true,
      platform: 'browser',
      format: 'esm',
      metafile: true,
      logLevel: 'silent',
    })
    expect(Object.values(metafile.outputs).flatMap((output) => output.imports)).toEqual([])
  })

  it('brings only what is used into a bundle', async () => {
    const { metafile } = await build({
      stdin: { contents: "export { createDevice } from 'tributary/sdk'", resolveDir: project },
      bundle: true,
      write: false,
      platform: 'browser',
      format: 'esm',
      metafile: true,
    })
    const [output] = Object.values(metafile.outputs)
    const used = Object.entries(output!.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    expect(used.map(([name]) => name).filter((name) => /secure-aggregation|trainers\/|tensors\//.test(name))).toEqual(
      [],
    )
  })

  it('refers to no source files that the package does not contain: bundlers warn of each', () => {
    const home = join(project, 'node_modules/tributary')
    const scripts = readdirSync(home, { recursive: true, encoding: 'utf8' }).filter((name) => /\.[cm]?js$/.test(name))
    expect(scripts.length).toBeGreaterThan(1000)
    expect(scripts.filter((name) => /^\/\/# sourceMappingURL=/m.test(readFileSync(join(home, name), 'utf8')))).toEqual(
      [],
    )
  })

  it('cannot import anything that is not an entry point', async () => {
    const importing = node('--input-type=module', '--eval', "await import('tributary/dist/main.js')")
    await expect(importing).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})
