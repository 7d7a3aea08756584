import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { normalize } from 'node:path/posix'
import { type Received, startReceiver } from './receiver.fixture.ts'

export interface KeptRun {
  readonly experiment: string
  readonly run_name: string
  status: string
  end_time: number | null
  lifecycle_stage: 'active' | 'deleted'
  /** All that were ever logged, in order: a file store keeps duplicates. */
  readonly metrics: { key: string; value: number; timestamp: number; step: number }[]
  readonly params: Map<string, string>
  readonly tags: Map<string, string>
}

interface Fields {
  readonly experiment_name: string
  readonly experiment_id: string
  readonly experiment_ids: readonly string[]
  readonly name: string
  readonly filter: string
  readonly max_results: number
  readonly run_id: string
  readonly run_name: string
  readonly status: string
  readonly end_time?: number
  readonly key: string
  readonly value: string
  readonly metrics?: KeptRun['metrics']
  readonly params?: readonly { readonly key: string; readonly value: string }[]
  readonly tags?: readonly { readonly key: string; readonly value: string }[]
}

class Refusal extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const invalid = (message: string): Refusal => new Refusal('INVALID_PARAMETER_VALUE', message)

/** Fields of the messages in mlflow/protos/service.proto, by their JSON types; all that are not optional are required. */
const REQUESTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'experiments/create': { name: 'string' },
  'runs/create': { experiment_id: 'string', run_name: 'string', start_time: 'number', tags: 'object' },
  'runs/search': { experiment_ids: 'object', filter: 'string', run_view_type: 'string', max_results: 'number' },
  'runs/log-batch': { run_id: 'string', metrics: 'object?', params: 'object?', tags: 'object?' },
  'runs/set-tag': { run_id: 'string', key: 'string', value: 'string' },
  'runs/update': { run_id: 'string', status: 'string', end_time: 'number?' },
}

const requireShape = (path: string, body: Readonly<Partial<Fields>>): void => {
  const shape = REQUESTS[path]
  if (shape === undefined) throw new Refusal('ENDPOINT_NOT_FOUND', path)
  for (const name of Object.keys(body)) if (shape[name] === undefined) throw invalid(`${path} has no field ${name}`)
  for (const [name, type] of Object.entries(shape)) {
    if (body[name as keyof Fields] === undefined && type.endsWith('?')) continue
    if (`${typeof body[name as keyof Fields]}` !== type.replace('?', ''))
      throw invalid(`${path}: ${name} must be ${type}`)
  }
}

/** As in mlflow/utils/validation.py. */
const requireName = (name: unknown): void => {
  if (typeof name !== 'string' || name === '' || name.length > 250 || !/^[/\w.\- ]*$/.test(name)) {
    throw invalid(`Invalid name: ${name}`)
  }
  if (normalize(name) !== name || name === '.' || name.startsWith('..') || name.startsWith('/')) {
    throw invalid(`${name} is a path that is equal to another`)
  }
}

/**
 * A tracking server based on MLflow's published definitions, because MLflow itself cannot be installed here: it accepts only
 * what those allow. `fault` may respond to a request instead, before or after it was done.
 */
export const startMlflow = async () => {
  const receiver = await startReceiver()
  const experiments = new Map<string, string>()
  const runs = new Map<string, KeptRun>()
  const mlflow = {
    url: receiver.url,
    experiments,
    runs,
    paths: [] as string[],
    /** Returns true if it has responded. */
    fault: (_path: string, _response: ServerResponse, _act: () => object, _body: Fields): boolean => false,
  }

  const runOf = (id: unknown): KeptRun => {
    const run = runs.get(String(id))
    if (run === undefined) throw new Refusal('RESOURCE_DOES_NOT_EXIST', `Run '${id}' not found`)
    return run
  }
  const activeRun = (id: unknown): KeptRun => {
    const run = runOf(id)
    if (run.lifecycle_stage !== 'active') throw invalid(`The run ${id} must be in the 'active' state.`)
    return run
  }
  const shown = (id: string) => {
    const { metrics, params, tags, ...info } = runOf(id)
    const latest = new Map(metrics.toSorted((a, b) => a.step - b.step).map((metric) => [metric.key, metric]))
    const pairs = (map: Map<string, string>) => [...map].map(([key, value]) => ({ key, value }))
    return {
      info: { run_id: id, run_uuid: id, ...info },
      data: { metrics: [...latest.values()], params: pairs(params), tags: pairs(tags) },
    }
  }

  const logBatch = ({ run_id, metrics = [], params = [], tags = [] }: Fields): object => {
    const run = activeRun(run_id)
    if (metrics.length + params.length + tags.length > 1000 || params.length > 100 || tags.length > 100) {
      throw invalid('A batch logging request is too large')
    }
    for (const metric of metrics) {
      requireName(metric.key)
      for (const field of ['value', 'timestamp', 'step'] as const) {
        if (typeof metric[field] !== 'number') throw invalid(`metric ${metric.key}: ${field} is no number`)
      }
      run.metrics.push(metric)
    }
    for (const { key, value } of params) {
      requireName(key)
      if (value.length > 500) throw invalid(`param ${key} is too long`)
      if (run.params.has(key) && run.params.get(key) !== value) throw invalid(`Changing param ${key} is not allowed.`)
      run.params.set(key, value)
    }
    for (const { key, value } of tags) {
      requireName(key)
      if (typeof value !== 'string' || value.length > 5000) throw invalid(`tag ${key} is too long`)
      run.tags.set(key, value)
    }
    return {}
  }

  const act = (path: string, body: Fields): object => {
    if (path === 'experiments/get-by-name') {
      const id = experiments.get(body.experiment_name)
      if (id === undefined) throw new Refusal('RESOURCE_DOES_NOT_EXIST', 'Could not find experiment')
      return { experiment: { experiment_id: id, name: body.experiment_name, lifecycle_stage: 'active' } }
    }
    if (path === 'runs/get') return { run: shown(body.run_id) }
    requireShape(path, body)
    if (path === 'experiments/create') {
      if (experiments.has(body.name)) throw new Refusal('RESOURCE_ALREADY_EXISTS', `${body.name} exists`)
      experiments.set(body.name, String(experiments.size + 1))
      return { experiment_id: experiments.get(body.name) }
    }
    if (path === 'runs/search') {
      const [, key, value] = /^tags\."([\w.]+)" = '([\w-]+)'$/.exec(body.filter) ?? []
      if (key === undefined) throw invalid(`Invalid filter: ${body.filter}`)
      const found = [...runs].filter(
        ([, run]) => body.experiment_ids.includes(run.experiment) && run.tags.get(key) === value,
      )
      // A response without runs has no such field: protobuf's JSON omits empty lists.
      return found.length === 0 ? {} : { runs: found.slice(0, body.max_results).map(([id]) => shown(id)) }
    }
    if (path === 'runs/create') {
      const id = randomUUID().replaceAll('-', '')
      const tags = new Map((body.tags ?? []).map(({ key, value }) => [key, value]))
      const run = { experiment: body.experiment_id, run_name: body.run_name, status: 'RUNNING', end_time: null }
      runs.set(id, { ...run, lifecycle_stage: 'active', metrics: [], params: new Map(), tags })
      return { run: shown(id) }
    }
    if (path === 'runs/log-batch') return logBatch(body)
    const run = activeRun(body.run_id)
    if (path === 'runs/set-tag') run.tags.set(body.key, body.value)
    else {
      if (!['RUNNING', 'SCHEDULED', 'FINISHED', 'FAILED', 'KILLED'].includes(body.status)) throw invalid('status')
      Object.assign(run, { status: body.status, end_time: body.end_time ?? null })
    }
    return {}
  }

  receiver.respond = ({ path, body }: Received, response: ServerResponse): void => {
    const url = new URL(path, receiver.url)
    const operation = url.pathname.replace('/api/2.0/mlflow/', '')
    mlflow.paths.push(operation)
    const parsed = body.length === 0 ? Object.fromEntries(url.searchParams) : JSON.parse(body.toString())
    const reply = (status: number, answer: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    try {
      if (mlflow.fault(operation, response, () => act(operation, parsed), parsed)) return
      reply(200, act(operation, parsed))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const isMissing = ['RESOURCE_DOES_NOT_EXIST', 'ENDPOINT_NOT_FOUND'].includes(error.code)
      reply(isMissing ? 404 : 400, { error_code: error.code, message: error.message })
    }
  }
  return mlflow
}
