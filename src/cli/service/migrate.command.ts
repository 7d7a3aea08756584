import type { Command } from 'commander'
import { jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { runServiceProgram } from './service-program.ts'

interface MigrateOptions {
  readonly to: string
  readonly storage?: string
  readonly dataDir?: string
  readonly json?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .requiredOption(
      '--to <url>',
      'an empty database: postgres://user@host:5432/name, the password in PGPASSWORD or in the URL',
    )
    .option('--storage <url>', 'copy the stored files too: s3://bucket/prefix?endpoint=…&region=…')
    .option('--data-dir <folder>', 'data folder of the stopped service (default: SERVICE_DATA_DIR, else ~/.svc/data)')
    .addOption(jsonOption())
    .action(({ to, storage, ...options }: MigrateOptions) => {
      const argv = ['migrate', '--to', to]
      return runServiceProgram(session, storage === undefined ? argv : [...argv, '--storage', storage], options)
    })
}
