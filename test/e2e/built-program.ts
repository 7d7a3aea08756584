import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { bundlePrograms } from '../../scripts/bundle.mjs'
import { lockFile } from '../../src/platform/files/file-lock.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/tributary-test')
const ASSETS = [
  'package.json',
  'src/platform/db/embedded/template.bin',
  'models/starter.gguf',
  'src/cli/demo/code-assistant.html',
]
const BUILDERS = ['test/e2e/built-program.ts', 'test/e2e/built-web.ts', 'scripts/bundle.mjs', 'scripts/web.mjs']
const DAY_MS = 24 * 60 * 60 * 1000

const isBuilt = (name: string): boolean => /\.(tsx?|css|html|svg)$/.test(name) && !/\.(test|fixture)\.ts$/.test(name)
const isOfProgram = (name: string): boolean => name.endsWith('.ts') && !name.startsWith('src/web/')

/** A hash of the names and modification times of all sources and packages. */
const stampOf = (names: readonly string[]): string => {
  const hash = createHash('sha256')
  for (const name of [...names, 'package-lock.json', ...ASSETS, ...BUILDERS]) {
    const { mtimeMs, size } = statSync(join(ROOT, name))
    hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

const forgetOld = (): void => {
  for (const name of readdirSync(CACHE)) {
    const folder = join(CACHE, name)
    const { mtimeMs = Date.now() } = statSync(folder, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > DAY_MS) rmSync(folder, { recursive: true, force: true })
  }
}

/** Every import stays an import, of the compiled file where it named the source. */
const fileByFile: Plugin = {
  name: 'file-by-file',
  setup: ({ onResolve }) =>
    onResolve({ filter: /./ }, ({ path, kind }) =>
      kind === 'entry-point' ? undefined : { path: path.replace(/^(\..*)\.ts$/, '$1.js'), external: true },
    ),
}

const compile = (names: readonly string[], folder: string) =>
  build({
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2023',
    logLevel: 'warning',
    entryPoints: names.map((name) => join(ROOT, name)),
    outbase: ROOT,
    outdir: folder,
    treeShaking: false,
    tsconfig: join(ROOT, 'tsconfig.json'),
    plugins: [fileByFile],
  })

/** Creates a folder atomically. Of the processes that need it at the same time, one builds it, and the others wait. */
export const buildOnce = async (folder: string, fill: (unfinished: string) => Promise<unknown>): Promise<void> => {
  const isTaken = new Error(`Another process builds ${folder}.`)
  mkdirSync(dirname(folder), { recursive: true })
  while (!existsSync(folder)) {
    const lock = await lockFile(`${folder}.lock`, () => isTaken).catch((error: unknown) => {
      if (error !== isTaken) throw error
      return null
    })
    if (lock === null) {
      await sleep(100)
      continue
    }
    try {
      if (existsSync(folder)) return
      const unfinished = `${folder}-${process.pid}`
      mkdirSync(unfinished, { recursive: true })
      await fill(unfinished)
      renameSync(unfinished, folder)
    } finally {
      await lock.release()
    }
  }
}

const prepare = async (names: readonly string[], folder: string): Promise<void> => {
  await compile(names, folder)
  await bundlePrograms(join(folder, 'src'))
  for (const asset of ASSETS) {
    mkdirSync(dirname(join(folder, asset)), { recursive: true })
    copyFileSync(join(ROOT, asset), join(folder, asset))
  }
  forgetOld()
}

const builds = new Map<string, Promise<void>>()

/**
 * Returns the path of a program file, such as `main.js`, built like `npm run build`, but compiled by esbuild, which takes one
 * second instead of tsc's twenty. One build serves all tests and runs until a source changes.
 */
export const builtFile = async (name: string): Promise<string> => {
  const names = (readdirSync(join(ROOT, 'src'), { recursive: true }) as string[])
    .filter(isBuilt)
    .sort()
    .map((source) => `src/${source}`)
  const folder = join(CACHE, stampOf(names))
  if (!builds.has(folder)) {
    const fill = (unfinished: string) => prepare(names.filter(isOfProgram), unfinished)
    builds.set(folder, buildOnce(folder, fill))
  }
  await builds.get(folder)
  return join(folder, 'src', name)
}
