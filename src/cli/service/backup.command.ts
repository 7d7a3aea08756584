import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { paths } from '../../client/client.ts'
import { backupSummary, leftOutWords } from '../../domain/backup-summary.ts'
import { meantBy } from '../../domain/misspelling.ts'
import { exists } from '../../platform/files/missing-file.ts'
import { connect } from '../connection.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import { waitForNextPoll, withRetries } from '../polling.ts'
import type { Session } from '../session.ts'
import { runServiceProgram, targetFrom } from './service-program.ts'

type Backup = paths['/api/v1/backups/{backup_id}']['get']['responses']['200']['content']['application/json']

interface BackupOptions extends DataOptions {
  readonly verify?: true
  readonly dataDir?: string
}

const POLL_INTERVAL_MS = 1000
const CONTINUATION_NOTE = 'The backup continues. Check on it with: svc backup list'
const HEALTH_MS = 5000
const LOCAL = ['127.0.0.1', 'localhost', '[::1]']

/** True if the address is on this machine and the service is not running: then the service's own program makes the backup. */
const isStopped = async ({ io }: Session, baseUrl: string): Promise<boolean> => {
  if (!LOCAL.includes(new URL(baseUrl).hostname)) return false
  const { client } = connect({ baseUrl, timeoutMs: HEALTH_MS, signal: io.signal })
  return client.GET('/api/v1/health').then(
    () => false,
    () => true,
  )
}

const ofRunning = async (session: Session, target: string | undefined, options: BackupOptions): Promise<void> => {
  const { out } = session
  const connection = await session.signedIn({ apiBase: options.apiBase })
  const body = { ...(target !== undefined && { target }), verify: options.verify === true }
  let backup: Backup = await connection.request((client) => client.POST('/api/v1/backups', { body }))
  if (!options.json) out.note(`Backing up to ${backup.target}`)
  while (backup.status === 'running') {
    await waitForNextPoll(session, POLL_INTERVAL_MS, CONTINUATION_NOTE)
    const params = { path: { backup_id: backup.id } }
    const poll = () => connection.request((client) => client.GET('/api/v1/backups/{backup_id}', { params }))
    backup = await withRetries(session, poll, CONTINUATION_NOTE)
  }
  if (backup.status === 'failed') throw new Failure(`The backup failed: ${backup.reason}`)
  if (options.json) return out.json(backup)
  out.line(backupSummary(backup))
  const leftOut = leftOutWords(backup.unreadable_files)
  if (leftOut !== null) out.note(leftOut)
}

const backUp = async (session: Session, target: string | undefined, options: BackupOptions): Promise<void> => {
  if (options.dataDir !== undefined && options.apiBase !== undefined) {
    throw wrongUsage('--data-dir is for a stopped service, --api-base for a running one.', 'Give one of them.')
  }
  const url = target === undefined ? undefined : targetFrom(session.io, target)
  const base = await session.apiBase(options.apiBase)
  if (options.dataDir === undefined && !(await isStopped(session, base))) return ofRunning(session, url, options)
  if (options.dataDir === undefined && options.json === undefined) session.out.note(`No service responds at ${base}.`)
  const argv = ['backup', ...(url === undefined ? [] : ['--target', url]), ...(options.verify ? ['--verify'] : [])]
  await runServiceProgram(session, argv, options)
}

/** A misspelled subcommand would otherwise back up everything to a new folder of that name. */
const refuseMisspelling = async (target: string, { commands }: Command, { io }: Session): Promise<void> => {
  const names = commands.map((subcommand) => subcommand.name())
  const meant = /^[\w-]+$/.test(target) ? meantBy(target, names) : null
  if (meant === null || (await exists(resolve(io.cwd, target)))) return
  throw wrongUsage(
    `There is no folder ${target}. Did you mean svc backup ${meant}?`,
    `For a new folder: svc backup ./${target}`,
  )
}

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[target]',
      "a folder on the service's machine or s3://bucket/prefix?endpoint=…&region=…, empty or with backups (default: SERVICE_BACKUP_URL)",
    )
    .option('--verify', 'hash all files, and restore an embedded database to compare its rows')
    .option('--data-dir <folder>', 'data folder of a stopped service (default: SERVICE_DATA_DIR, else ~/.svc/data)')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (target: string | undefined, options: BackupOptions) => {
      if (target !== undefined) await refuseMisspelling(target, command, session)
      await backUp(session, target, options)
    })
}
