// Builds dist/ from src/: one .js file per .ts file, no bundling, so that the built tree reads like the source tree.
import { spawnSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

rmSync(`${root}/dist`, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status === 0) chmodSync(`${root}/dist/cli/main.js`, 0o755)
process.exitCode = status ?? 1
