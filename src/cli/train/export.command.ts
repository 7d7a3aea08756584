import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { shellWord } from '../../domain/shell-word.ts'
import { addPathToError } from '../../platform/files/durable-file.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'
import { curvesOf, eventFile } from './event-file.ts'
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

/** These are columns of their own. */
const COLUMN_CURVES = ['train/loss', 'train/accuracy']

/** Quotes a cell by RFC 4180. Prevents spreadsheets from interpreting a device's text as a formula. */
const cell = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

/** One line per round: its record, then the other metrics, by their names in TensorBoard. */
const csvOf = (rounds: readonly Round[]): readonly string[] => {
  const curves = rounds.map((round) => new Map(curvesOf(round)))
  const names = [...new Set(curves.flatMap((each) => [...each.keys()]))]
    .filter((name) => !COLUMN_CURVES.includes(name))
    .sort()
  const rows = rounds.map((round, index) => [
    ...COLUMNS.map((column) => round[column]),
    ...names.map((name) => curves[index]!.get(name)),
  ])
  return [[...COLUMNS, ...names], ...rows].map((row) => row.map(cell).join(','))
}

interface ExportOptions extends ServiceOptions {
  readonly format: 'json' | 'csv' | 'tensorboard'
  readonly output?: string
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<job>', 'a job, by name or id; for a model, its newest job')
    .addOption(
      new Option('--format <format>', 'the job with all its rounds, one line per round, or a TensorBoard log')
        .choices(['json', 'csv', 'tensorboard'])
        .default('json'),
    )
    .option('--output <folder>', 'TensorBoard log folder; the job becomes a run in it')
    .addOption(apiBaseOption())
    .action(async (name: string, { format, output, apiBase }: ExportOptions) => {
      const { out, io } = session
      if ((output !== undefined) !== (format === 'tensorboard')) {
        throw wrongUsage(
          '--output and --format tensorboard must be given together.',
          'For example: svc train export my-job --format tensorboard --output runs',
        )
      }
      const connection = await session.signedIn({ apiBase })
      const { history: _, ...job } = await jobOf(session, connection, name)
      const rounds = await allRounds(connection, job.id)
      if (output !== undefined) {
        const folder = join(resolve(io.cwd, output), job.id)
        const createdAt = new Date(job.created_at)
        await makeFolder(folder)
        // The name is always the same, so a later export replaces an earlier one.
        const path = join(folder, `events.out.tfevents.${Math.floor(createdAt.getTime() / 1000)}.tributary`)
        await writeFile(path, eventFile(rounds, createdAt)).catch(addPathToError(path))
        out.line(path)
        return out.note(`Show it with: tensorboard --logdir ${shellWord(output)}`)
      }
      if (format === 'json') return out.json({ job, rounds })
      for (const line of csvOf(rounds)) out.line(line)
    })
}
