// Builds dist/ from src/: one .js file per .ts file, so that the built tree reads like the source tree; type declarations for
// the package's entries; the SDK also as one file, for web pages without a bundler; and the dashboard (web.mjs). Builds nothing
// if dist/ is up to date, and only the program or only the dashboard if just its sources changed. It never builds in place,
// because a service may be running from dist/.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bundlePrograms } from './bundle.mjs'
import { buildWeb } from './web.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Only tests use another folder. */
const dist = process.argv[2] ?? join(root, 'dist')
const next = `${dist}.next-${process.pid}`
// Takes a third of the time of TypeScript 5, which is still needed by tools that use the compiler as a library.
const tsc = join(root, 'node_modules/typescript-7/bin/tsc')

// On its first start, the embedded database unpacks this template instead of running initdb.
const ASSETS = ['platform/db/embedded/template.bin', 'cli/demo/code-assistant.html']
const SETTINGS = [
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.types.json',
  'scripts/build.mjs',
  'scripts/bundle.mjs',
]

const WEB_SETTINGS = ['package-lock.json', 'tsconfig.json', 'tsconfig.web.json', 'scripts/web.mjs']

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const WEB = join(root, 'src/web/')
/** The folders that the dashboard is built from. */
const OF_WEB = ['src/web/', 'src/client/', 'src/domain/'].map((folder) => join(root, folder))

const stampOf = (settings, names) => {
  const hash = createHash('sha256')
  for (const name of [...settings.map((name) => join(root, name)), ...names].sort()) {
    if (existsSync(name)) hash.update(`${name.slice(root.length)}\0`).update(readFileSync(name))
  }
  return hash.digest('hex')
}

/** Returns hashes of the sources of the program and of the dashboard. */
const stamps = () => {
  const built = filesIn(join(root, 'src')).filter((name) => !/\.(test|fixture)\.tsx?$/.test(name))
  return {
    program: stampOf(
      SETTINGS,
      built.filter((name) => !name.startsWith(WEB)),
    ),
    web: stampOf(
      WEB_SETTINGS,
      built.filter((name) => OF_WEB.some((folder) => name.startsWith(folder))),
    ),
  }
}

const run = (...args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
    child.on('error', reject)
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`node ${args.join(' ')} failed`))))
  })

const compile = (project) => run(tsc, '-p', project, '--outDir', next)

/** Rewrites import extensions in .d.ts files, because TypeScript does so only in .js files. */
const nameBuiltFiles = () => {
  for (const name of filesIn(next).filter((name) => name.endsWith('.d.ts'))) {
    const text = readFileSync(name, 'utf8')
    writeFileSync(name, text.replaceAll(/(\bfrom |\bimport\()(['"])(\.{1,2}\/[^'"]*)\.ts\2/g, '$1$2$3.js$2'))
  }
}

const bundleSdk = () =>
  build({
    entryPoints: [join(root, 'src/sdk/index.ts')],
    outfile: join(next, 'sdk/browser.js'),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    logLevel: 'warning',
  })

/** Replaces dist/. Of two concurrent builds, the later one wins. */
const swap = () => {
  const former = `${dist}.former-${process.pid}`
  for (let attempt = 1; ; attempt++) {
    try {
      if (existsSync(dist)) renameSync(dist, former)
      renameSync(next, dist)
      return rmSync(former, { recursive: true, force: true })
    } catch (error) {
      if (existsSync(former) && !existsSync(dist)) renameSync(former, dist)
      else rmSync(former, { recursive: true, force: true })
      if (attempt === 5) throw error
    }
  }
}

const buildProgram = async () => {
  await Promise.all([compile('tsconfig.build.json'), compile('tsconfig.types.json')])
  nameBuiltFiles()
  await bundleSdk()
  for (const name of ASSETS) copyFileSync(join(root, 'src', name), join(next, name))
  await run(join(next, 'platform/db/write-migrated-template.js'), join(next, ASSETS[0]))
  await bundlePrograms(next)
  chmodSync(join(next, 'cli/main.js'), 0o755)
}

const isWeb = (name) => name === 'web' || name === '.sources'
const keepProgram = () => {
  for (const name of readdirSync(dist).filter((name) => !isWeb(name))) {
    cpSync(join(dist, name), join(next, name), { recursive: true })
  }
}
const keepWeb = () => cpSync(join(dist, 'web'), join(next, 'web'), { recursive: true })

const stampFile = join(dist, '.sources')
const readStamps = () => {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'))
  } catch {
    return {}
  }
}

const now = stamps()
const before = readStamps()
const [programIsNew, webIsNew] = [now.program !== before.program, now.web !== before.web]
if (programIsNew || webIsNew) {
  try {
    mkdirSync(next, { recursive: true })
    if (programIsNew) await buildProgram()
    else keepProgram()
    if (webIsNew) await buildWeb(join(next, 'web'))
    else keepWeb()
    writeFileSync(join(next, '.sources'), JSON.stringify(now))
    swap()
  } finally {
    rmSync(next, { recursive: true, force: true })
  }
}
