import { callerOf } from '../../../platform/http/access.ts'
import type { App } from '../../../platform/http/app.ts'
import type { RouteConfig } from '../../../platform/http/route-config.ts'
import { optionalBody } from '../../../platform/http/validation.ts'
import { BackupList, BackupParams, Backup as BackupSchema, NewBackup } from './backups.schema.ts'
import type { Backup, Backups } from './backups.service.ts'

const WHO = 'Requires a key that is not bound to an organization.'

export const backupsRoutes = (app: App, backups: Backups): void => {
  app.post(
    '/api/v1/backups',
    {
      schema: {
        operationId: 'createBackup',
        summary: 'Start a backup',
        description: `Copies the database, the keys, and the stored files that the target does not have yet, while the service keeps running. ${WHO}`,
        body: optionalBody(NewBackup),
        response: { 202: BackupSchema },
      },
      config: { access: 'admin', errors: ['conflict'] } satisfies RouteConfig,
    },
    async (request, reply) => {
      const { target, verify = false } = request.body ?? {}
      return reply.code(202).send(present(await backups.create(callerOf(request), { target, verify })))
    },
  )

  app.get(
    '/api/v1/backups',
    {
      schema: {
        operationId: 'listBackups',
        summary: 'List backups',
        description: `The 100 most recent backups, whatever their state. ${WHO}`,
        response: { 200: BackupList },
      },
      config: { access: 'admin' } satisfies RouteConfig,
    },
    async (request) => ({ backups: (await backups.list(callerOf(request))).map(present) }),
  )

  app.get(
    '/api/v1/backups/:backup_id',
    {
      schema: {
        operationId: 'getBackup',
        summary: 'Get a backup',
        description: WHO,
        params: BackupParams,
        response: { 200: BackupSchema },
      },
      config: { access: 'admin', errors: ['not_found'] } satisfies RouteConfig,
    },
    async (request) => present(await backups.show(callerOf(request), request.params.backup_id)),
  )
}

const present = (backup: Backup) => ({
  id: backup.id,
  name: backup.name,
  target: backup.target,
  scheduled: backup.isScheduled,
  status: backup.status,
  reason: backup.reason,
  database: backup.database as 'embedded' | 'dump' | 'none' | null,
  files: backup.files,
  bytes: backup.bytes,
  copied_files: backup.copiedFiles,
  copied_bytes: backup.copiedBytes,
  unreadable_files: backup.unreadableFiles,
  verified_at: backup.verifiedAt?.toISOString() ?? null,
  created_at: backup.createdAt.toISOString(),
  ended_at: backup.endedAt?.toISOString() ?? null,
})
