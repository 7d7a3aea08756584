import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/tributary-test')
const ASSETS = ['src/db/embedded/template.bin']
const DAY_MS = 24 * 60 * 60 * 1000

/** Which sources there are, and when each was last written. */
const stampOf = (): string => {
  const hash = createHash('sha256')
  for (const name of (readdirSync(join(ROOT, 'src'), { recursive: true }) as string[]).sort()) {
    if (!/\.(ts|bin)$/.test(name) || /\.(test|fixture)\.ts$/.test(name)) continue
    const { mtimeMs, size } = statSync(join(ROOT, 'src', name))
    hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

const forgetOld = (): void => {
  for (const name of readdirSync(CACHE)) {
    const folder = join(CACHE, name)
    if (Date.now() - statSync(folder).mtimeMs > DAY_MS) rmSync(folder, { recursive: true, force: true })
  }
}

const build = (folder: string): void => {
  const unfinished = `${folder}-${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  const config = {
    extends: relative(unfinished, join(ROOT, 'tsconfig.build.json')),
    // The types are the check's business.
    compilerOptions: { rootDir: ROOT, outDir: unfinished, sourceMap: false, noCheck: true },
    include: [join(ROOT, 'src')],
    exclude: ['test', 'fixture'].map((kind) => join(ROOT, `src/**/*.${kind}.ts`)),
  }
  writeFileSync(join(unfinished, 'tsconfig.json'), JSON.stringify(config))
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', unfinished], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`The program does not compile:\n${stdout}`)
  for (const asset of ['package.json', ...ASSETS]) copyFileSync(join(ROOT, asset), join(unfinished, asset))
  // Another process of the tests may have been faster; its build is as good.
  if (existsSync(folder)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, folder)
  forgetOld()
}

/**
 * A file of the program as `npm run build` compiles it, such as `main.js`: what users run, and it starts in half of the time that
 * the sources take. One build serves all tests, and all runs until a source changes.
 */
export const builtFile = (name: string): string => {
  const folder = join(CACHE, stampOf())
  if (!existsSync(folder)) build(folder)
  return join(folder, 'src', name)
}
