import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildOnce, builtFile } from './built-program.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/web.mjs', import.meta.url))
const BUILD = 'const [script, folder] = process.argv.slice(1); await (await import(script)).buildWeb(folder)'

/** Builds the dashboard where the program from `builtFile` looks for it; returns the folder. */
export const buildDashboard = async (): Promise<string> => {
  const folder = join(dirname(await builtFile('main.js')), 'web')
  await buildOnce(folder, (unfinished) =>
    // In a separate process: Vite's build depends on `NODE_ENV`, which is `test` here.
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', BUILD, SCRIPT, unfinished], {
      env: { PATH: process.env.PATH },
    }),
  )
  return folder
}
