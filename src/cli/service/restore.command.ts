import type { Command } from 'commander'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { runServiceProgram, targetFrom } from './service-program.ts'

interface RestoreOptions {
  readonly backup?: string
  readonly dataDir?: string
  readonly json?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<target>', 'the folder that contains the backups, or s3://bucket/prefix?endpoint=…&region=…')
    .option('--backup <name>', 'name of the backup, as svc backup list <target> shows it (default: the latest)')
    .option('--data-dir <folder>', 'empty data folder to restore to (default: SERVICE_DATA_DIR, else ~/.svc/data)')
    .addOption(jsonOption())
    .action((target: string, { backup, ...options }: RestoreOptions) => {
      const argv = ['restore', '--target', targetFrom(session.io, target)]
      return runServiceProgram(session, backup === undefined ? argv : [...argv, '--backup', backup], options)
    })
}
