import { workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import type { ThreadData } from './thread-messages.ts'

const { folder } = workerData as ThreadData

// Small segments: a new folder contains two of them, and at 16 MB each they would be most of it.
const db = await PGlite.create({ dataDir: folder, initDbStartParams: ['--wal-segsize=4'] })

// PGlite connects to only one database and could never vacuum the other two; after 2^31 transactions their age would stop the
// whole server.
await db.exec("update pg_database set datistemplate = false where datname like 'template%'")
await db.exec('drop database template0')
await db.exec('drop database template1')
await db.exec('vacuum (freeze, analyze)')
await db.exec('checkpoint')
await db.close()
