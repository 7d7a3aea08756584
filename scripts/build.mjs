// Builds dist/ from src/: one .js file per .ts file, no bundling, so that the built tree reads like the source tree.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

rmSync(`${root}/dist`, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status === 0) {
  chmodSync(`${root}/dist/cli/main.js`, 0o755)
  // The embedded database's first start unpacks this instead of running initdb.
  copyFileSync(`${root}/src/platform/db/embedded/template.bin`, `${root}/dist/platform/db/embedded/template.bin`)
  copyFileSync(`${root}/src/cli/demo/code-assistant.html`, `${root}/dist/cli/demo/code-assistant.html`)
}
process.exitCode = status ?? 1
