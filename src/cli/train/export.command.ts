import { type Command, Option } from 'commander'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'
import { jobOf } from './job.ts'
import { allRounds, type Round } from './job-rounds.ts'

const COLUMNS = [
  'round_number',
  'id',
  'status',
  'loss',
  'accuracy',
  'target_devices',
  'completed_devices',
  'failed_devices',
  'started_at',
  'completed_at',
  'aggregated_model_id',
  'failure_reason',
] as const satisfies readonly (keyof Round)[]

/** RFC 4180. A spreadsheet must not take the text of a device for a formula. */
const cell = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<job>', 'a job, by id or name, or the newest of a model')
    .addOption(
      new Option('--format <format>', 'the job and all its rounds, or a line for each round')
        .choices(['json', 'csv'])
        .default('json'),
    )
    .addOption(apiBaseOption())
    .action(async (name: string, { format, apiBase }: ServiceOptions & { readonly format: 'json' | 'csv' }) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const { history: _, ...job } = await jobOf(connection, name)
      const rounds = await allRounds(connection, job.id)
      if (format === 'json') return out.json({ job, rounds })
      out.line(COLUMNS.join(','))
      for (const round of rounds) out.line(COLUMNS.map((column) => cell(round[column])).join(','))
    })
}
