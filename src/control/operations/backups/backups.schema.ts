import { Type } from 'typebox'
import { Body, Count, Nullable, OneOf, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../operations.examples.ts'

export const NewBackup = Body('NewBackup', 'Where a backup is written to', examples.newBackup, {
  target: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "The absolute path of a folder on the service's machine; SERVICE_BACKUP_URL when absent",
    }),
  ),
  verify: Type.Optional(
    Type.Boolean({ default: false, description: 'Start the database on a copy, compare rows and hash all files' }),
  ),
})

export const Backup = Body('Backup', 'A backup of the whole installation', examples.backup, {
  id: Uuid,
  name: Type.String({ description: 'Its name in the target' }),
  target: Type.String(),
  scheduled: Type.Boolean({ description: 'By SERVICE_BACKUP_URL, and not on request' }),
  status: OneOf(['running', 'completed', 'failed']),
  reason: Nullable(Type.String({ description: 'Why it failed' })),
  database: Nullable(
    OneOf(['embedded', 'dump', 'none'], {
      description:
        'How the database is in it; none: a server without pg_dump on this machine, to be backed up by its own tools',
    }),
  ),
  files: Nullable(Count),
  bytes: Nullable(Count),
  copied_files: Nullable(Type.Integer({ minimum: 0, description: 'Those that the target did not have' })),
  copied_bytes: Nullable(Count),
  unreadable_files: Nullable(Type.Integer({ minimum: 0, description: 'Stored files that are damaged, and not in it' })),
  verified_at: Nullable(Timestamp),
  created_at: Timestamp,
  ended_at: Nullable(Timestamp),
})

export const BackupList = Body('BackupList', 'The latest backups, newest first', examples.backupList, {
  backups: Type.Array(Backup),
})

export const BackupParams = Type.Object({ backup_id: Type.String() })
