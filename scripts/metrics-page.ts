import { STATE_METRICS } from '../src/control/operations/metrics/metrics.report.ts'
import { PROCESS_METRICS, STORAGE_UP } from '../src/control/operations/metrics/process-metrics.service.ts'

const row = (name: string, labels: readonly string[], help: string): string =>
  `| \`${name}\` | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`

/** Generates docs/metrics.md. */
export const metricsPage = (): string => `<!-- Generated from the code by \`npm run gen\`. Do not edit. -->

# Metrics

\`GET /metrics\` returns the service's metrics in the Prometheus text format. With token enrollment, it requires a key with \`metrics:read\`.

\`\`\`
scrape_configs:
  - job_name: tributary
    authorization: { credentials: sk_live_... }
    static_configs: [{ targets: ["localhost:8000"] }]
\`\`\`

[deploy/prometheus/alerts.yml](../deploy/prometheus/alerts.yml) contains alert rules for them, and
[deploy/grafana/tributary.json](../deploy/grafana/tributary.json) is a dashboard for Grafana.

## State

Gauges read from the database, at most every 15 seconds. Processes that share a database report the same values, so use \`max\`, not
\`sum\`. The values cover all organizations, also for a key that belongs to one ([threat-model.md](threat-model.md#not-covered)).

| metric | labels | meaning |
|---|---|---|
${STATE_METRICS.map(({ name, labels, help }) => row(name, labels, help)).join('\n')}
${row('tributary_state_read_seconds', [], 'How long it took to read these values from the database')}
${row('tributary_database_up', [], 'Whether the database responded, and accepts writes, when these values were read')}

## Requests and process

Each process reports its own: use \`sum\`. \`route\` is the pattern of the path, so heartbeats are
\`route="/api/v1/devices/:device_id/heartbeat"\` and submitted updates \`route="/api/v1/training/rounds/:round_id/updates"\`.

| metric | labels | meaning |
|---|---|---|
${row('http_requests_total', ['method', 'route', 'status'], 'Requests')}
${row('http_request_duration_seconds', ['method', 'route', 'status', 'le'], 'Their duration, a histogram')}
${PROCESS_METRICS.map(({ name, labels, help }) => row(name, labels, help)).join('\n')}
${row(STORAGE_UP.name, [], STORAGE_UP.help)}
${row('nodejs_eventloop_lag_p99_seconds', [], 'Delay of the event loop')}
${row('process_resident_memory_bytes', [], 'Resident memory')}
${row('process_cpu_seconds_total', [], 'Processor time')}
${row('process_open_fds', [], 'Open file descriptors')}

The other metrics that begin with \`nodejs_\` and \`process_\` are the standard ones of prom-client.
`
