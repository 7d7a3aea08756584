import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import { runServiceProgram, targetFrom } from './service-program.ts'

const ofService = async (session: Session, { apiBase, json }: DataOptions): Promise<void> => {
  const connection = await session.signedIn({ apiBase })
  const response = await connection.request((client) => client.GET('/api/v1/backups'))
  if (json) return session.out.json(response)
  if (response.backups.length === 0) return session.out.note('No backups. Create one with: svc backup <folder>')
  await session.out.list(
    ['NAME', 'STATUS', 'AT', 'DATABASE', 'FILES', 'SIZE', 'NEW', 'VERIFIED', 'TARGET', 'REASON'],
    response.backups.map((backup) => [
      backup.name,
      backup.status,
      timeWords(backup.created_at),
      backup.database,
      backup.files === null ? null : String(backup.files),
      backup.bytes === null ? null : sizeWords(backup.bytes),
      backup.copied_bytes === null ? null : sizeWords(backup.copied_bytes),
      backup.verified_at === null ? 'no' : 'yes',
      backup.target,
      backup.reason,
    ]),
  )
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('[target]', 'list the backups in this folder of this machine, without a service')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action((target: string | undefined, options: DataOptions) =>
      target === undefined
        ? ofService(session, options)
        : runServiceProgram(session, ['backups', '--target', targetFrom(session.io, target)], options),
    )
}
