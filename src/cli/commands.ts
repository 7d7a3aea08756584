import type { CommandEntry, CommandGroup } from './command.ts'
import { FEDERATION_COMMANDS, RESOURCE_COMMANDS, TRAIN_COMMANDS } from './resources/resources.ts'

/** Every command there is, in the order of the interface's table; our own come last. */
export const COMMANDS: readonly (CommandEntry | CommandGroup)[] = [
  { name: 'run', summary: 'prompt a local model', load: () => import('./inference/run.command.ts') },
  { name: 'embed', summary: 'compute the embedding of a text', load: () => import('./inference/embed.command.ts') },
  {
    name: 'transcribe',
    summary: 'transcribe a recording',
    load: () => import('./inference/transcribe.command.ts'),
  },
  {
    name: 'serve',
    summary: 'serve models over an OpenAI-compatible API',
    load: () => import('./inference/serve.command.ts'),
  },
  {
    name: 'benchmark',
    summary: 'measure the speed of a model on this machine',
    load: () => import('./inference/benchmark.command.ts'),
  },
  { name: 'deploy', summary: 'deploy a version to devices', load: () => import('./delivery/deploy.command.ts') },
  { name: 'login', summary: 'sign in to a service', load: () => import('./login/login.command.ts') },
  { name: 'push', summary: 'upload a model to the catalog', load: () => import('./delivery/push.command.ts') },
  { name: 'pull', summary: 'download a model from the catalog', load: () => import('./delivery/pull.command.ts') },
  {
    name: 'list',
    summary: 'list local models',
    commands: [
      {
        name: 'models',
        summary: 'list local models, their variants and engines',
        load: () => import('./models/list.command.ts'),
      },
    ],
  },
  {
    name: 'scan',
    summary: 'find inference servers on the local network',
    load: () => import('./network/scan.command.ts'),
  },
  {
    name: 'status',
    summary: 'show the delivery status of a model',
    load: () => import('./delivery/status.command.ts'),
  },
  {
    name: 'dashboard',
    summary: 'open the dashboard in a browser',
    load: () => import('./delivery/dashboard.command.ts'),
  },
  {
    name: 'init',
    summary: 'create an organization and make it the default',
    load: () => import('./org/init.command.ts'),
  },
  { name: 'org', summary: "show the organization's settings", load: () => import('./org/org.command.ts') },
  {
    name: 'demo',
    summary: 'run a demo on a local model',
    commands: [
      {
        name: 'code-assistant',
        summary: 'chat about code in a web page and the terminal',
        load: () => import('./demo/code-assistant.command.ts'),
      },
    ],
  },
  {
    name: 'launch',
    summary: 'run a coding agent with a local model',
    load: () => import('./network/launch.command.ts'),
  },
  {
    name: 'models',
    summary: 'list models of this machine, Ollama and the catalog',
    load: () => import('./models/models.command.ts'),
    commands: [
      { name: 'promote', summary: 'move an alias to a version', load: () => import('./models/promote.command.ts') },
      { name: 'aliases', summary: "list a model's aliases", load: () => import('./models/aliases.command.ts') },
    ],
  },
  {
    name: 'rollback',
    summary: 'roll back to the previous version',
    load: () => import('./delivery/rollback.command.ts'),
  },
  {
    name: 'pair',
    summary: 'pair this machine as a device by a code',
    load: () => import('./delivery/pair.command.ts'),
  },
  {
    name: 'keys',
    summary: 'create, list and revoke API keys',
    commands: [
      { name: 'create', summary: 'create an API key', load: () => import('./keys/create.command.ts') },
      { name: 'list', summary: 'list API keys', load: () => import('./keys/list.command.ts') },
      { name: 'revoke', summary: 'revoke an API key', load: () => import('./keys/revoke.command.ts') },
    ],
  },
  {
    name: 'train',
    summary: 'train a model on the fleet',
    commands: [
      { name: 'start', summary: 'start a training job', load: () => import('./train/start.command.ts') },
      {
        name: 'status',
        summary: 'show the progress of a training job',
        load: () => import('./train/status.command.ts'),
      },
      { name: 'stop', summary: 'stop a training job', load: () => import('./train/stop.command.ts') },
      { name: 'cancel', summary: 'cancel a training round', load: () => import('./train/cancel.command.ts') },
      {
        name: 'verify',
        summary: 'replay a completed round and compare the result',
        load: () => import('./train/verify.command.ts'),
      },
      ...TRAIN_COMMANDS,
      {
        name: 'resume',
        summary: 'resume a stopped or failed training job',
        load: () => import('./train/resume.command.ts'),
      },
      {
        name: 'extend',
        summary: 'give a completed training job more rounds',
        load: () => import('./train/extend.command.ts'),
      },
    ],
  },
  {
    name: 'federation',
    summary: 'train together with other organizations',
    commands: [
      { name: 'create', summary: 'create a federation', load: () => import('./federation/create.command.ts') },
      {
        name: 'invite',
        summary: 'invite organizations to a federation',
        load: () => import('./federation/invite.command.ts'),
      },
      { name: 'join', summary: 'accept an invitation', load: () => import('./federation/join.command.ts') },
      { name: 'list', summary: 'list federations', load: () => import('./federation/list.command.ts') },
      { name: 'show', summary: 'show a federation', load: () => import('./federation/show.command.ts') },
      {
        name: 'members',
        summary: 'list members and their contributions',
        load: () => import('./federation/members.command.ts'),
      },
      { name: 'share', summary: 'share a model with the members', load: () => import('./federation/share.command.ts') },
      {
        name: 'budget',
        summary: 'show or set the privacy budget',
        load: () => import('./federation/budget.command.ts'),
      },
      {
        name: 'privacy',
        summary: 'list private rounds, or estimate the cost of one',
        load: () => import('./federation/privacy.command.ts'),
      },
      ...FEDERATION_COMMANDS,
    ],
  },
  { name: 'logout', summary: 'sign out of a service', load: () => import('./login/logout.command.ts') },
  { name: 'agent', summary: 'run a training device in the foreground', load: () => import('./agent/agent.command.ts') },
  {
    name: 'add',
    summary: 'add a model to the local models folder',
    load: () => import('./models/add.command.ts'),
  },
  {
    name: 'remove',
    summary: 'delete a model from the local models folder',
    load: () => import('./models/remove.command.ts'),
  },
  {
    name: 'calibrate',
    summary: 'find the prompts that a smaller model can answer',
    load: () => import('./inference/calibrate.command.ts'),
  },
  {
    name: 'engines',
    summary: 'list, install and remove inference engines',
    commands: [
      {
        name: 'list',
        summary: 'list engines and how to install them',
        load: () => import('./engines/list.command.ts'),
      },
      { name: 'install', summary: 'install an optional engine', load: () => import('./engines/install.command.ts') },
      { name: 'remove', summary: 'remove an optional engine', load: () => import('./engines/remove.command.ts') },
    ],
  },
  ...RESOURCE_COMMANDS,
  {
    name: 'up',
    summary: 'start the service with its dashboard',
    load: () => import('./service/up.command.ts'),
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: () => import('./completion/completion.command.ts'),
  },
  {
    name: 'doctor',
    summary: 'check installation, service, key, clock, disk and engines',
    load: () => import('./service/doctor.command.ts'),
  },
]
