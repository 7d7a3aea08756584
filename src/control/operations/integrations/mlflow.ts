import { type Receiver, signIn } from './log-messages.ts'
import { failed, type Message, type Outcome, Unsuccessful } from './send.ts'

/** Limits of one log-batch: 1000 entries, among them 100 parameters and 100 tags (mlflow/protos/service.proto, LogBatch). */
const METRICS_AT_ONCE = 1000
const MAX_PARAMETERS = 100
const MAX_PARAMETER_CHARS = 500
const MAX_TAG_CHARS = 5000
const DEFAULT_EXPERIMENT = 'tributary'

/** A training job, or a round without one, that is ahead of its run. */
export interface DueSubject {
  readonly kind: 'job' | 'round'
  readonly id: string
  /** Its progress; if it has ended, when it ended. */
  readonly progress: string
}

export interface Subject {
  readonly orgId: string | null
  readonly name: string
  readonly status: string
  readonly reason: string | null
  readonly settings: Readonly<Record<string, unknown>>
  readonly modelId: string | null
  readonly startedAt: Date
  readonly endedAt: Date | null
}

interface Summaries {
  readonly [name: string]: { readonly mean: number }
}

export interface MeasuredRound {
  readonly id: string
  readonly number: number
  readonly loss: number | null
  readonly accuracy: number | null
  readonly metrics: Summaries | null
  readonly evaluation: { readonly metrics: Summaries } | null
  readonly at: Date
  readonly modelId: string | null
  readonly sha256: string | null
}

interface KeyValue {
  readonly key: string
  readonly value: string
}
interface Metric {
  readonly key: string
  readonly value: number
  /** Unix time in milliseconds. */
  readonly timestamp: number
  readonly step: number
}
interface Run {
  readonly info: { readonly run_id: string; readonly status: string; readonly lifecycle_stage?: string }
  readonly data?: {
    /** For each key, the one with the highest step. */
    readonly metrics?: readonly { readonly key: string; readonly step?: number | string }[]
    readonly params?: readonly KeyValue[]
  }
}

/** MLflow accepts letters, digits and _ . - / and space, and no path that is equal to another one. */
const keyOf = (name: string): string =>
  name
    .replace(/[^\w.\-/ ]/g, '_')
    .split('/')
    .filter((part) => !['', '.', '..'].includes(part))
    .join('/')
    .slice(0, 250)

/** `minDevices`, as it is stored, is `min_devices` in the API. */
const wireName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Flattens one level of objects: `strategy.name`. Users have named the hyperparameters. */
const parametersOf = (settings: Subject['settings']): KeyValue[] => {
  const named = Object.entries(settings).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).map(
          ([inner, one]) => [`${wireName(name)}.${name === 'hyperparameters' ? inner : wireName(inner)}`, one] as const,
        )
      : [[wireName(name), value] as const],
  )
  const texts = new Map(
    named
      .filter(([name, value]) => value !== null && value !== undefined && keyOf(name) !== '')
      .map(([name, value]) => [keyOf(name), typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  return [...texts]
    .map(([key, value]) => ({ key, value: value.slice(0, MAX_PARAMETER_CHARS) }))
    .slice(0, MAX_PARAMETERS)
}

/** Uses the names of `svc train export --format tensorboard`: `train/…` for the devices' data, `eval/…` for held-out data. */
const metricsOf = ({ number: step, at, ...round }: MeasuredRound): Metric[] => {
  const values = new Map<string, number | null>([
    ['train/loss', round.loss],
    ['train/accuracy', round.accuracy],
  ])
  for (const [name, { mean }] of Object.entries(round.metrics ?? {})) values.set(keyOf(`train/${name}`), mean)
  for (const [name, { mean }] of Object.entries(round.evaluation?.metrics ?? {}))
    values.set(keyOf(`eval/${name}`), mean)
  return [...values].flatMap(([key, value]) =>
    typeof value === 'number' ? [{ key, value, timestamp: at.getTime(), step }] : [],
  )
}

interface Described {
  readonly due: DueSubject
  readonly last: MeasuredRound | undefined
  /** The versions of a model that it made. */
  readonly published: string
}

const tagsOf = (subject: Subject, { due, last, published }: Described): KeyValue[] =>
  Object.entries({
    [`${due.kind}_id`]: due.id,
    org_id: subject.orgId,
    base_model_id: subject.modelId,
    round_id: last?.id,
    receipt: last && `/api/v1/training/rounds/${last.id}/receipt`,
    model_id: last?.modelId,
    model_sha256: last?.sha256,
    versions: published,
    reason: subject.reason,
  }).flatMap(([name, value]) => (value ? [{ key: `tributary.${name}`, value: value.slice(0, MAX_TAG_CHARS) }] : []))

const STATUS: Readonly<Record<string, string>> = { completed: 'FINISHED', failed: 'FAILED', stopped: 'KILLED' }

/** MLflow's tracking REST API (mlflow.org/docs/latest/rest-api.html), over `send`, which sends once. */
export const createMlflow = (receiver: Receiver, send: (message: Message) => Promise<Outcome>) => {
  const experiment = String(receiver.config.experiment ?? DEFAULT_EXPERIMENT)

  const attempt = async (method: 'GET' | 'POST', path: string, body: object): Promise<Outcome> => {
    const url = new URL(receiver.endpoint)
    url.pathname = `${url.pathname.replace(/\/$/, '')}/api/2.0/mlflow/${path}`
    const headers = { 'content-type': 'application/json', ...signIn(receiver.config) }
    if (method === 'POST') return send({ url: url.href, headers, body: Buffer.from(JSON.stringify(body)) })
    for (const [name, value] of Object.entries(body)) url.searchParams.set(name, String(value))
    return send({ method, url: url.href, headers, body: Buffer.alloc(0) })
  }

  const parsed = <Answer>(outcome: Outcome): Answer => {
    if (!outcome.ok) throw new Unsuccessful(outcome)
    try {
      return JSON.parse(outcome.body) as Answer
    } catch {
      throw new Unsuccessful(failed('The response is not JSON: is this an MLflow tracking server?'))
    }
  }
  const get = async <Answer>(path: string, query: object) => parsed<Answer>(await attempt('GET', path, query))
  const post = async <Answer>(path: string, body: object) => parsed<Answer>(await attempt('POST', path, body))

  const ensureExperiment = async (): Promise<string> => {
    const query = { experiment_name: experiment }
    const found = await attempt('GET', 'experiments/get-by-name', query)
    if (found.status === 404) {
      const created = await attempt('POST', 'experiments/create', { name: experiment })
      // Another process was faster.
      if (!created.body.includes('RESOURCE_ALREADY_EXISTS'))
        return parsed<{ experiment_id: string }>(created).experiment_id
    }
    type Found = { experiment: { experiment_id: string; lifecycle_stage?: string } }
    const known = found.ok ? parsed<Found>(found) : await get<Found>('experiments/get-by-name', query)
    if (known.experiment.lifecycle_stage === 'deleted')
      throw new Unsuccessful(
        failed(
          `The experiment '${experiment}' was deleted in MLflow: restore it, or choose another in config.experiment.`,
        ),
      )
    return known.experiment.experiment_id
  }

  /** Finds the run by its tag, or creates it: a killed process may have created it without recording it. */
  const ensureRun = async (tag: KeyValue, name: string, startedAt: Date): Promise<string> => {
    const experimentId = await ensureExperiment()
    const { runs = [] } = await post<{ runs?: readonly Run[] }>('runs/search', {
      experiment_ids: [experimentId],
      filter: `tags."${tag.key}" = '${tag.value}'`,
      run_view_type: 'ALL',
      max_results: 1,
    })
    if (runs[0] !== undefined) return runs[0].info.run_id
    const { run } = await post<{ run: Run }>('runs/create', {
      experiment_id: experimentId,
      run_name: name.slice(0, 250),
      start_time: startedAt.getTime(),
      tags: [tag],
    })
    return run.info.run_id
  }

  /** Returns the run in MLflow, or null if it no longer exists. */
  const find = async (runId: string): Promise<Run | null> => {
    const outcome = await attempt('GET', 'runs/get', { run_id: runId })
    return outcome.status === 404 ? null : parsed<{ run: Run }>(outcome).run
  }

  return {
    /** Returns the run of a job or round, found or created. */
    runOf: (due: DueSubject, subject: Subject): Promise<string> =>
      ensureRun({ key: `tributary.${due.kind}_id`, value: due.id }, subject.name, subject.startedAt),

    find,

    /** Sends only what the run does not have yet. */
    async logMetrics({ info, data }: Run, rounds: readonly MeasuredRound[]): Promise<void> {
      const stepOf = new Map(data?.metrics?.map(({ key, step }) => [key, Number(step ?? 0)]))
      const metrics = rounds.flatMap(metricsOf).filter(({ key, step }) => step > (stepOf.get(key) ?? -1))
      for (let at = 0; at < metrics.length; at += METRICS_AT_ONCE) {
        await post('runs/log-batch', { run_id: info.run_id, metrics: metrics.slice(at, at + METRICS_AT_ONCE) })
      }
    },

    /** Sends parameters, tags (its origin and results), and its status. */
    async describe({ info, data }: Run, subject: Subject, of: Described): Promise<void> {
      const known = new Set(data?.params?.map(({ key }) => key))
      // A parameter can be written once: one that has changed (because a job was extended) would be refused.
      const params = parametersOf(subject.settings).filter(({ key }) => !known.has(key))
      await post('runs/log-batch', { run_id: info.run_id, params, tags: tagsOf(subject, of) })
      const status = STATUS[subject.status] ?? 'RUNNING'
      if (status === info.status) return
      const end = subject.endedAt === null ? {} : { end_time: subject.endedAt.getTime() }
      await post('runs/update', { run_id: info.run_id, status, ...end })
    },

    /** Finds or creates a run for tests, the same each time. */
    async test(now: Date): Promise<Outcome> {
      const run_id = await ensureRun({ key: 'tributary.test', value: 'true' }, 'test of the integration', now)
      await post('runs/set-tag', { run_id, key: 'tributary.tested_at', value: now.toISOString() })
      const run = await find(run_id)
      if (run?.info.status === 'RUNNING')
        await post('runs/update', { run_id, status: 'FINISHED', end_time: now.getTime() })
      const response = `The run ${run_id} of the experiment '${experiment}' has a new tag, tributary.tested_at.`
      return { ...failed(response), ok: true, status: 200 }
    },
  }
}
