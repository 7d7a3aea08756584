import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder, freshPostgresUrl, hasPostgres } from '../../../test/databases.ts'
import { readConfig } from '../../config.ts'
import { RESTORING } from '../data-folder.ts'
import { openBackupTarget } from '../operations/backups/backup-target.ts'
import { backupName, writeManifest } from '../operations/backups/manifest.ts'
import { restore } from './restore.ts'

it.skipIf(!hasPostgres())(
  'a dump is restored only to an empty database, checked before anything is written',
  async () => {
    const target = await emptyFolder()
    await writeManifest(openBackupTarget(target), {
      format: 1,
      name: backupName(new Date('2026-01-01T00:00:00Z'), 'abcd'),
      created_at: '2026-01-01T00:00:00.000Z',
      version: '1.0.0',
      database: { kind: 'dump', postgres: '15', rows: null, folders: [], files: [] },
      keys: [],
      files: [],
      unreadable: [],
    })
    const dataDir = join(await emptyFolder(), 'data')
    const restoreTo = (databaseUrl: string | null) =>
      restore({
        config: { ...readConfig({}), dataDir, databaseUrl },
        text: (option) => (option === 'target' ? target : null),
        flag: () => false,
        result: () => undefined,
        progress: (words) => expect(words).toBe('nothing was restored'),
      })
    await expect(restoreTo(null)).rejects.toThrow('set SERVICE_DATABASE_URL to an empty database')
    await expect(restoreTo(await freshPostgresUrl())).rejects.toThrow(
      'The database that SERVICE_DATABASE_URL names is not empty.',
    )
    expect(await readdir(dataDir)).not.toContain(RESTORING)
  },
)
