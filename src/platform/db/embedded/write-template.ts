// Recreates template.bin after an upgrade of PGlite: node --import tsx src/platform/db/embedded/write-template.ts
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packFolder, runInitdb } from './template.ts'

const folder = await mkdtemp(join(tmpdir(), 'tributary-template-'))
try {
  await runInitdb(folder)
  const packed = await packFolder(folder, 11)
  await writeFile(new URL('./template.bin', import.meta.url), packed)
  console.log(`template.bin: ${packed.length} bytes`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
