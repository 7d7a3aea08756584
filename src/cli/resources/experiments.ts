import { wrongUsage } from '../failure.ts'
import type { Action, ActionOption, Argument, Kind, Resource, Row } from './resource.ts'

const experiment: Argument = { name: 'experiment', help: 'an experiment, by name or id', find: 'experiment' }
const AT = '/api/v1/experiments/{experiment_id}'
const reason: ActionOption = { flags: '--reason <text>', help: 'kept with the experiment', field: 'reason' }
const DEVICE: ActionOption = { flags: '--device <device>', help: 'its device id', field: 'device_id', required: true }

/** `control=my-model@1.0.0:0.5`: a name, a model, its version (default: the latest) and a share of the devices. */
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

const move = (name: string, did: string, summary: string): Action => ({
  name,
  summary,
  request: `POST ${AT}/${name}`,
  args: [experiment],
  options: [reason],
  done: `${did} the experiment {name}: {status}.`,
})

export const experiments: Resource = {
  name: 'experiments',
  summary: 'compare versions on devices',
  actions: [
    {
      name: 'list',
      summary: 'list experiments, newest first',
      request: 'GET /api/v1/experiments',
      options: [
        {
          flags: '--status <status>',
          help: 'only those',
          field: 'status',
          choices: ['draft', 'running', 'paused', 'completed', 'cancelled'],
        },
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
      none: 'No experiments. Make one with: svc experiments create <name> --variant a=<model>:0.5 --variant b=<model>:0.5',
    },
    { name: 'show', summary: 'show an experiment', request: `GET ${AT}`, args: [experiment] },
    {
      name: 'create',
      summary: 'make an experiment, to be started then',
      request: 'POST /api/v1/experiments',
      args: [{ name: 'name', help: 'unique in the organization', field: 'name' }],
      options: [
        {
          flags: '--variant <name=model@version:share>',
          help: 'such as control=my-model@1.0.0:0.5; repeatable',
          field: 'variants',
          parse: 'each',
          required: true,
        },
        {
          flags: '--group <group>',
          help: 'only devices of this group, by name or id; repeatable',
          field: 'target_groups',
          parse: 'each',
        },
        { flags: '--metric <name>', help: 'what decides (default: accuracy)', field: 'primary_metric' },
        { flags: '--confidence <level>', help: 'such as 0.95', field: 'confidence_level', parse: 'number' },
      ],
      body: variantsOf,
      done: 'Made experiment {name} ({id}).',
      hint: 'Start it with: svc experiments start {name}',
    },
    { ...move('start', 'Started', 'start an experiment'), options: [], done: 'Started experiment {id}: {status}.' },
    move('pause', 'Paused', 'pause an experiment'),
    move('resume', 'Resumed', 'resume an experiment'),
    move('complete', 'Completed', 'complete an experiment'),
    move('cancel', 'Cancelled', 'cancel an experiment'),
    {
      name: 'results',
      summary: 'compare the variants of an experiment',
      request: `GET ${AT}/analytics`,
      args: [experiment],
    },
    {
      name: 'assignment',
      summary: "show a device's variant",
      request: `GET ${AT}/assignment`,
      args: [experiment],
      options: [DEVICE],
    },
    {
      name: 'observe',
      summary: 'add what a device measured',
      request: `POST ${AT}/observations`,
      args: [experiment],
      options: [
        DEVICE,
        {
          flags: '--metric <key=value>',
          help: 'such as accuracy=0.9; repeatable',
          field: 'metrics',
          parse: 'pairs',
          required: true,
        },
      ],
      done: 'Accepted {accepted}.',
    },
  ],
}
