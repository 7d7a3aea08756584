import { wrongUsage } from '../failure.ts'
import type { Kind } from './kinds.ts'
import { type Action, action, argument, option, type Resource, type Row } from './resource.ts'

const experiment = argument('experiment', 'an experiment, by name or id', { find: 'experiment' })
const AT = '/api/v1/experiments/{experiment_id}'
const reason = option('--reason <text>', 'stored with the experiment', 'reason')
const DEVICE = option('--device <device>', 'device id', 'device_id', { required: true })

/** `control=my-model@1.0.0:0.5`: a name, a model, its version (default: the latest), and its share of the devices. */
const VARIANT = /^(?<name>[^=]+)=(?<model>[^@]+?)(?:@(?<version>[^@:]+))?:(?<share>\d*\.?\d+)$/

const variantsOf = async (values: Row, find: (kind: Kind, name: string) => Promise<Row>): Promise<Row> => {
  const variants = await Promise.all(
    (values.variants as readonly string[]).map(async (text) => {
      const groups = VARIANT.exec(text)?.groups
      if (groups === undefined) {
        throw wrongUsage(`'${text}' is not a variant.`, 'It must look like control=my-model@1.0.0:0.5.')
      }
      const { model_id } = await find('model', groups.model!)
      const version = groups.version === undefined ? {} : { version: groups.version }
      return { name: groups.name!, model_id, allocation: Number(groups.share), ...version }
    }),
  )
  const targets = (values.target_groups as readonly string[] | undefined) ?? []
  const found = await Promise.all(targets.map(async (name) => (await find('group', name)).group_id))
  return { variants, ...(found.length > 0 && { target_groups: found }) }
}

/** Shows the metrics of all variants as one table. */
const byMetric = (response: Row): Row => {
  const variants = response.variants as readonly { name: string; metrics: Readonly<Record<string, Row>> }[]
  return {
    ...response,
    variants: variants.map(({ metrics: _, ...variant }) => variant),
    metrics: variants.flatMap(({ name, metrics }) =>
      Object.entries(metrics).map(([metric, sample]) => ({ metric, variant: name, ...sample })),
    ),
  }
}

const move = (name: string, did: string, summary: string): Action =>
  action(name, summary, `POST ${AT}/${name}`, {
    args: [experiment],
    options: [reason],
    done: `${did} the experiment {name}: {status}.`,
  })

export const experiments: Resource = {
  name: 'experiments',
  summary: 'compare versions on devices',
  actions: [
    action('list', 'list experiments, newest first', 'GET /api/v1/experiments', {
      options: [
        option('--status <status>', 'only experiments in this state', 'status', {
          choices: ['draft', 'running', 'paused', 'completed', 'cancelled'],
        }),
      ],
      rows: 'experiments',
      columns: [
        ['NAME', 'name'],
        ['STATUS', 'status'],
        ['VARIANTS', (row) => (row.variants as { name: string }[]).map(({ name }) => name), 'names'],
        ['METRIC', 'primary_metric'],
        ['STARTED', 'started_at', 'time'],
        ['CREATED', 'created_at', 'time'],
        ['ID', 'id', 'id'],
      ],
      none: 'No experiments. Create one with: svc experiments create <name> --variant a=<model>:0.5 --variant b=<model>:0.5',
    }),
    action('show', 'show an experiment', `GET ${AT}`, { args: [experiment] }),
    action('create', 'create an experiment as a draft', 'POST /api/v1/experiments', {
      args: [argument('name', 'unique in the organization', { field: 'name' })],
      options: [
        option(
          '--variant <name=model@version:share>',
          'a variant, such as control=my-model@1.0.0:0.5; repeatable',
          'variants',
          {
            parse: 'each',
            required: true,
          },
        ),
        option('--group <group>', 'only devices of this group, by name or id; repeatable', 'target_groups', 'each'),
        option('--metric <name>', 'primary metric (default: accuracy)', 'primary_metric'),
        option('--confidence <level>', 'confidence level (default: 0.95)', 'confidence_level', 'number'),
      ],
      body: variantsOf,
      finds: ['group'],
      done: 'Created experiment {name} ({id}).',
      hint: 'Start it with: svc experiments start {name}',
    }),
    { ...move('start', 'Started', 'start an experiment'), options: [], done: 'Started experiment {id}: {status}.' },
    move('pause', 'Paused', 'pause an experiment'),
    move('resume', 'Resumed', 'resume an experiment'),
    move('complete', 'Completed', 'complete an experiment'),
    move('cancel', 'Canceled', 'cancel an experiment'),
    action('results', 'compare the variants of an experiment', `GET ${AT}/analytics`, {
      args: [experiment],
      options: [option('--metric <name>', 'compare in this metric (default: the primary one)', 'metric')],
      shown: byMetric,
    }),
    action('assignment', "show a device's variant", `GET ${AT}/assignment`, { args: [experiment], options: [DEVICE] }),
    action('observe', 'add an observation from a device', `POST ${AT}/observations`, {
      args: [experiment],
      options: [
        DEVICE,
        option('--metric <key=value>', 'a measurement, such as accuracy=0.9; repeatable', 'metrics', {
          parse: 'pairs',
          required: true,
        }),
      ],
      done: 'Accepted {accepted}.',
    }),
  ],
}
