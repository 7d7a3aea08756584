import type { Command } from 'commander'
import { ownEntry } from '../../domain/own-entry.ts'
import type { Connection } from '../connection.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'
import { type JobDetail, jobOf } from './job.ts'
import { allRounds, type Round } from './job-rounds.ts'

type Figure = number | string | null

/** Settings of a job that may differ. */
const SETTINGS = [
  'strategy',
  'strategy_options',
  'hyperparameters',
  'model_id',
  'model_version',
  'min_devices',
  'target_devices',
  'over_selection',
  'timeout_seconds',
  'report_window_seconds',
  'wait_for_devices_seconds',
  'evaluation_seconds',
  'group_id',
  'federation_id',
  'privacy',
  'secure_aggregation',
  'stop_when',
  'metric',
  'raw_vector',
  'publish',
] as const satisfies readonly (keyof JobDetail)[]

const last = (values: readonly (number | null | undefined)[]): number | null =>
  values.findLast((value) => value != null) ?? null

const best = (values: readonly (number | null | undefined)[], pick: (...of: number[]) => number): number | null => {
  const known = values.filter((value): value is number => value != null)
  return known.length === 0 ? null : pick(...known)
}

/** Weighted means of what devices reported by name, with a prefix. */
const meansOf = (metrics: Round['metrics'] | undefined, prefix: string): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(metrics ?? {}).map(([name, { mean }]) => [`${prefix}${name}`, mean]))

/** Returns a job's results by the table's names. */
const figuresOf = (job: JobDetail, rounds: readonly Round[]): Readonly<Record<string, Figure>> => {
  const completed = rounds.filter(({ status }) => status === 'completed')
  const losses = completed.map(({ loss }) => loss)
  const accuracies = completed.map(({ accuracy }) => accuracy)
  const milliseconds = completed.reduce(
    (sum, { started_at, completed_at }) =>
      started_at === null || completed_at === null ? sum : sum + Date.parse(completed_at) - Date.parse(started_at),
    0,
  )
  const { final_loss: _loss, final_accuracy: _accuracy, ...others } = meansOf(completed.at(-1)?.metrics, 'final_')
  const evaluated = completed.findLast(({ evaluation }) => evaluation != null)
  return {
    status: job.status,
    rounds: `${job.rounds_completed}/${job.rounds}`,
    final_loss: last(losses),
    best_loss: best(losses, Math.min),
    final_accuracy: last(accuracies),
    best_accuracy: best(accuracies, Math.max),
    seconds: milliseconds / 1000,
    epsilon: job.privacy_spent?.epsilon ?? null,
    result: job.published.at(-1)?.version_label ?? null,
    ...others,
    ...meansOf(evaluated?.evaluation?.metrics, 'final_held_out_'),
  }
}

const differing = (jobs: readonly JobDetail[]): readonly (typeof SETTINGS)[number][] =>
  SETTINGS.filter((setting) => new Set(jobs.map((job) => JSON.stringify(job[setting]))).size > 1)

const text = (value: unknown): string | null => {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return String(Number(value.toPrecision(5)))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const read = async (session: Session, connection: Connection, name: string) => {
  const job = await jobOf(session, connection, name)
  return { job, figures: figuresOf(job, await allRounds(connection, job.id)) }
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<jobs...>', 'jobs, by name or id; for a model, its newest job')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (names: readonly string[], { json, apiBase }: DataOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const found = await Promise.all(names.map((name) => read(session, connection, name)))
      const settings = differing(found.map(({ job }) => job))
      if (json) {
        return out.json({
          jobs: found.map(({ job, figures }) => ({ id: job.id, name: job.name, ...figures })),
          settings: Object.fromEntries(settings.map((setting) => [setting, found.map(({ job }) => job[setting])])),
        })
      }
      const measured = [...new Set(found.flatMap(({ figures }) => Object.keys(figures)))]
      const rows = measured.map((name) => [
        name.replaceAll('_', ' '),
        ...found.map(({ figures }) => text(ownEntry(figures, name))),
      ])
      const differences = settings.map((setting) => [
        setting === 'model_id' ? 'model' : setting.replaceAll('_', ' '),
        ...found.map(({ job }) => (setting === 'model_id' ? (job.model_name ?? job.model_id) : text(job[setting]))),
      ])
      out.table(['', ...found.map(({ job }) => job.name ?? job.id.slice(0, 8))], [...rows, ...differences])
    })
}
