import { Type } from 'typebox'
import { Body, Count, Nullable, OneOf, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../operations.examples.ts'

export const NewBackup = Body('NewBackup', 'Where to write a backup, and whether to verify it', examples.newBackup, {
  target: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: "Absolute path of a folder on the service's machine, or s3://…; default SERVICE_BACKUP_URL",
    }),
  ),
  verify: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Verify it: hash all files, and of an embedded database start a copy and compare its rows',
    }),
  ),
})

export const Backup = Body('Backup', 'A backup of the whole installation', examples.backup, {
  id: Uuid,
  name: Type.String({ description: 'Its name in the target' }),
  target: Type.String(),
  scheduled: Type.Boolean({ description: 'Whether it was scheduled (SERVICE_BACKUP_HOURS)' }),
  status: OneOf(['running', 'completed', 'failed']),
  reason: Nullable(Type.String({ description: 'Why it failed' })),
  database: Nullable(
    OneOf(['embedded', 'dump', 'none'], {
      description:
        'Format of the database; none: pg_dump is not installed on this machine, so back up the PostgreSQL server with its own tools',
    }),
  ),
  files: Nullable(Count),
  bytes: Nullable(Count),
  copied_files: Nullable(Type.Integer({ minimum: 0, description: 'Files that the target did not have yet' })),
  copied_bytes: Nullable(Count),
  unreadable_files: Nullable(
    Type.Integer({ minimum: 0, description: 'Stored files that are damaged and were left out' }),
  ),
  verified_at: Nullable(Timestamp),
  created_at: Timestamp,
  ended_at: Nullable(Timestamp),
})

export const BackupList = Body('BackupList', 'The latest backups, newest first', examples.backupList, {
  backups: Type.Array(Backup),
})

export const BackupParams = Type.Object({ backup_id: Type.String() })
