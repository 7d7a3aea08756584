import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'node_modules/.cache/tributary-bench', `${process.pid}`)

export interface BuiltProgram {
  /** The program that `npm start` runs. */
  readonly service: string
  /** The same server and route, responding from memory. */
  readonly baseline: string
}

let built: BuiltProgram | undefined

/**
 * Compiles the program and the baseline like `npm run build`, but in a separate folder: never a stale dist/, and never one that
 * is rebuilt during a benchmark. Does not use tsx, which wraps every function.
 */
export const buildProgram = (): BuiltProgram => {
  if (built !== undefined) return built
  // Two benchmarks may run at the same time.
  process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }))
  mkdirSync(FOLDER, { recursive: true })
  const config = {
    extends: relative(FOLDER, join(ROOT, 'tsconfig.build.json')),
    compilerOptions: { rootDir: ROOT, outDir: FOLDER },
    include: [join(ROOT, 'src'), join(ROOT, 'test/bench/heartbeat-baseline.ts')],
    exclude: [join(ROOT, 'src/**/*.test.ts')],
  }
  writeFileSync(join(FOLDER, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const { status } = spawnSync(process.execPath, [tsc, '-p', FOLDER], { stdio: 'inherit' })
  if (status !== 0) throw new Error('The program does not compile.')
  for (const asset of ['package.json', 'src/platform/db/embedded/template.bin']) {
    copyFileSync(join(ROOT, asset), join(FOLDER, asset))
  }
  built = {
    service: join(FOLDER, 'src/main.js'),
    baseline: join(FOLDER, 'test/bench/heartbeat-baseline.js'),
  }
  return built
}
