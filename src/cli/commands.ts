import { type CommandEntry, type CommandGroup, entry } from './command.ts'
import {
  APPROVAL_COMMANDS,
  AUDIT_COMMANDS,
  FEDERATION_COMMANDS,
  INTEGRATION_COMMANDS,
  KEY_COMMANDS,
  ORG_COMMANDS,
  RESOURCE_COMMANDS,
  TEAM_COMMANDS,
  TRAIN_COMMANDS,
} from './resources/resources.ts'

const continuations = () => import('./train/continue.command.ts')

/** All commands, in the order of `svc --help`. */
export const COMMANDS: readonly (CommandEntry | CommandGroup)[] = [
  entry('run', 'prompt a local model', () => import('./inference/run.command.ts')),
  entry('embed', 'compute the embedding of a text', () => import('./inference/embed.command.ts')),
  entry('transcribe', 'transcribe a recording', () => import('./inference/transcribe.command.ts')),
  entry('serve', 'serve models over an OpenAI-compatible API', () => import('./inference/serve.command.ts')),
  entry('benchmark', 'measure the speed of a model on this machine', () => import('./inference/benchmark.command.ts')),
  entry('deploy', 'deploy a version to devices', () => import('./delivery/deploy.command.ts')),
  entry('login', 'sign in to a service', () => import('./login/login.command.ts')),
  entry('push', 'upload a model to the catalog', () => import('./catalog/push.command.ts')),
  entry('pull', 'download a model from the catalog', () => import('./catalog/pull.command.ts')),
  entry('convert', 'convert a model to other formats', () => import('./model-tools/convert.command.ts')),
  entry('eval', 'evaluate a model on test data', () => import('./model-tools/eval.command.ts')),
  entry('quantize', 'make a model smaller, and measure its quality', () => import('./model-tools/quantize.command.ts')),
  entry('check', 'check whether a model runs on devices', () => import('./model-tools/check.command.ts')),
  {
    name: 'list',
    summary: 'list local models',
    commands: [
      entry('models', 'list local models, their variants, and engines', () => import('./models/list.command.ts')),
    ],
  },
  entry('scan', 'find inference servers on the local network', () => import('./network/scan.command.ts')),
  entry('status', 'show the delivery status of a model', () => import('./delivery/status.command.ts')),
  entry('dashboard', 'open the dashboard in a browser', () => import('./service/dashboard.command.ts')),
  entry('init', 'create an organization and make it the default', () => import('./org/init.command.ts')),
  {
    ...entry('org', "show the organization's settings", () => import('./org/org.command.ts')),
    commands: ORG_COMMANDS,
  },
  {
    name: 'demo',
    summary: 'run a demo with a local model',
    commands: [
      entry(
        'code-assistant',
        'chat about code in a web page and the terminal',
        () => import('./demo/code-assistant.command.ts'),
      ),
    ],
  },
  entry('launch', 'run a coding agent with a local model', () => import('./network/launch.command.ts')),
  {
    ...entry(
      'models',
      'list models on this machine, in Ollama, and in the catalog',
      () => import('./models/models.command.ts'),
    ),
    commands: [
      entry('add', 'add a model to the local models folder', () => import('./models/add.command.ts')),
      entry('promote', 'move an alias to a version', () => import('./models/promote.command.ts')),
      entry('show', 'show a version, its origin, and where it runs', () => import('./models/show.command.ts')),
      entry('aliases', "list a model's aliases", () => import('./models/aliases.command.ts')),
      entry('versions', "list a model's versions", () => import('./models/versions.command.ts')),
      entry('set-metadata', 'change the metadata of a version', () => import('./models/set-metadata.command.ts')),
      entry('describe', "change a model's description", () => import('./models/describe.command.ts')),
      entry('delete-version', 'delete a version from the catalog', () => import('./models/delete-version.command.ts')),
    ],
  },
  entry('rollback', 'roll back to the previous version', () => import('./delivery/rollback.command.ts')),
  entry('pair', 'pair this machine as a device, with a pairing code', () => import('./delivery/pair.command.ts')),
  TEAM_COMMANDS,
  KEY_COMMANDS,
  {
    name: 'train',
    summary: 'train a model on the fleet',
    commands: [
      entry('start', 'start a training job', () => import('./train/start.command.ts')),
      entry('status', 'show the progress of a training job', () => import('./train/status.command.ts')),
      ...TRAIN_COMMANDS,
      entry('show', 'show a training job', () => import('./train/status.command.ts')),
      entry('resume', 'resume a stopped or failed training job', async () => (await continuations()).resume),
      entry('extend', 'give a completed training job more rounds', async () => (await continuations()).extend),
      entry('compare', 'compare training jobs', () => import('./train/compare.command.ts')),
      entry('export', 'print a training job with all its rounds', () => import('./train/export.command.ts')),
    ],
  },
  FEDERATION_COMMANDS,
  INTEGRATION_COMMANDS,
  entry('logout', 'sign out of a service', () => import('./login/logout.command.ts')),
  entry('agent', 'run a device in the foreground', () => import('./agent/agent.command.ts')),
  entry('add', 'add a model to the local models folder', () => import('./models/add.command.ts')),
  entry('remove', 'delete a model from the local models folder', () => import('./models/remove.command.ts')),
  entry(
    'calibrate',
    'find the prompts that a smaller model can answer',
    () => import('./inference/calibrate.command.ts'),
  ),
  {
    name: 'engines',
    summary: 'list, install, and remove inference engines',
    commands: [
      entry('list', 'list engines and how to install them', () => import('./engines/list.command.ts')),
      entry('install', 'install an optional engine', () => import('./engines/install.command.ts')),
      entry('remove', 'remove an optional engine', () => import('./engines/remove.command.ts')),
    ],
  },
  ...RESOURCE_COMMANDS,
  entry('up', 'start the service and its dashboard', () => import('./service/up.command.ts')),
  entry('completion', 'print the completion script for a shell', () => import('./completion/completion.command.ts')),
  entry(
    'doctor',
    'check installation, service, key, clock, disk, and engines',
    () => import('./service/doctor.command.ts'),
  ),
  {
    ...entry('backup', 'back up the service', () => import('./service/backup.command.ts')),
    commands: [entry('list', 'list backups', () => import('./service/backup-list.command.ts'))],
  },
  entry('restore', 'restore a backup to an empty data folder', () => import('./service/restore.command.ts')),
  AUDIT_COMMANDS,
  entry('migrate', 'move a stopped service to a PostgreSQL server', () => import('./service/migrate.command.ts')),
  APPROVAL_COMMANDS,
]
