// The build recreates template.bin with all tables: node write-migrated-template.js <built template.bin>
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packFolder } from './embedded/template.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { openDatabase } from './open.ts'

const target = process.argv[2]
if (target === undefined) throw new Error('Name the file to write.')
const dataDir = await mkdtemp(join(tmpdir(), 'tributary-template-'))
const log = { info: () => undefined, warn: console.error, error: console.error }
try {
  const database = await openDatabase({ url: null, dataDir, log })
  await migrate(database, MIGRATIONS)
  await database.close()
  await writeFile(target, await packFolder(join(dataDir, 'database'), 6))
} finally {
  await rm(dataDir, { recursive: true, force: true })
}
