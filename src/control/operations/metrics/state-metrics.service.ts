import type { Context } from '../../context.ts'
import { readStateMetric, STATE_METRICS } from './metrics.report.ts'

/** Scrapes within this time read the database only once. */
const FRESH_MS = 15_000

/** Escapes a label for the Prometheus text format 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats). */
const escaped = (value: unknown): string =>
  String(value).replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/"/g, '\\"')

const UP = `# HELP tributary_database_up Whether the database responded when these values were read
# TYPE tributary_database_up gauge
`

/** Metrics of the database about rounds, devices, rollouts, and so on, for `GET /metrics`. */
export const createStateMetrics = ({ database, now }: Context) => {
  let readAt = Number.NEGATIVE_INFINITY
  let latest: Promise<string> = Promise.resolve('')

  const read = async (): Promise<string> => {
    const at = now()
    const started = performance.now()
    const lines: string[] = []
    for (const metric of STATE_METRICS) {
      lines.push(`# HELP ${metric.name} ${metric.help}`, `# TYPE ${metric.name} gauge`)
      for (const row of await readStateMetric(database.sql, metric, at)) {
        const labels = metric.labels.map((label) => `${label}="${escaped(row[label])}"`).join(',')
        lines.push(`${metric.name}${labels === '' ? '' : `{${labels}}`} ${row.value}`)
      }
    }
    lines.push(
      '# HELP tributary_state_read_seconds How long it took to read these values from the database',
      '# TYPE tributary_state_read_seconds gauge',
      `tributary_state_read_seconds ${((performance.now() - started) / 1000).toFixed(4)}`,
    )
    return `${lines.join('\n')}\n`
  }

  return {
    /** Returns the current metrics of one organization, or of all if it is null. */
    async samples(orgId: string | null) {
      const metrics = STATE_METRICS.filter(({ isShared }) => orgId === null || isShared !== true)
      const samples = []
      for (const metric of metrics) {
        const { name, help, labels } = metric
        for (const row of await readStateMetric(database.sql, metric, now(), orgId)) {
          const named = Object.fromEntries(labels.map((label) => [label, String(row[label])]))
          samples.push({ name, help, labels: named, value: row.value })
        }
      }
      return samples
    },

    /** Returns metrics that are at most 15 seconds old; if the database does not respond, only that. */
    async text(): Promise<string> {
      if (performance.now() - readAt > FRESH_MS) {
        readAt = performance.now()
        latest = read()
        latest.catch(() => {
          readAt = Number.NEGATIVE_INFINITY
        })
      }
      const text = await latest.catch(() => null)
      return `${text ?? ''}${UP}tributary_database_up ${text === null ? 0 : 1}\n`
    },
  }
}

export type StateMetrics = ReturnType<typeof createStateMetrics>
