import type { CommandEntry, CommandGroup } from './command.ts'

/** Every command there is, in the order of the interface's table; our own come last. */
export const COMMANDS: readonly (CommandEntry | CommandGroup)[] = [
  { name: 'run', summary: 'ask a model on this machine', load: () => import('./inference/run.command.ts') },
  { name: 'embed', summary: 'turn a text into a vector', load: () => import('./inference/embed.command.ts') },
  {
    name: 'transcribe',
    summary: 'write down what a recording says',
    load: () => import('./inference/transcribe.command.ts'),
  },
  { name: 'serve', summary: 'serve models in the style of OpenAI', load: () => import('./inference/serve.command.ts') },
  {
    name: 'benchmark',
    summary: 'measure how fast a model is here',
    load: () => import('./inference/benchmark.command.ts'),
  },
  { name: 'deploy', summary: 'bring a version to devices', load: () => import('./delivery/deploy.command.ts') },
  { name: 'login', summary: 'sign in to a service', load: () => import('./login/login.command.ts') },
  { name: 'push', summary: 'bring a model into the catalog', load: () => import('./delivery/push.command.ts') },
  { name: 'pull', summary: 'fetch a model from the catalog', load: () => import('./delivery/pull.command.ts') },
  {
    name: 'list',
    summary: 'list what there is on this machine',
    commands: [
      { name: 'models', summary: 'list models, variants and engines', load: () => import('./models/list.command.ts') },
    ],
  },
  {
    name: 'scan',
    summary: 'find inference servers on the local network',
    load: () => import('./network/scan.command.ts'),
  },
  { name: 'status', summary: 'show how a model is delivered', load: () => import('./delivery/status.command.ts') },
  {
    name: 'dashboard',
    summary: 'open the service in a browser',
    load: () => import('./delivery/dashboard.command.ts'),
  },
  { name: 'init', summary: 'create an organization and work in it', load: () => import('./org/init.command.ts') },
  { name: 'org', summary: "show the organization's settings", load: () => import('./org/org.command.ts') },
  {
    name: 'demo',
    summary: 'see what a model on this machine can do',
    commands: [
      {
        name: 'code-assistant',
        summary: 'chat about code, in a page and in the terminal',
        load: () => import('./demo/code-assistant.command.ts'),
      },
    ],
  },
  {
    name: 'launch',
    summary: 'run a coding agent on a model of this machine',
    load: () => import('./network/launch.command.ts'),
  },
  {
    name: 'models',
    summary: 'list models here, of Ollama and of the registry',
    load: () => import('./models/models.command.ts'),
  },
  {
    name: 'rollback',
    summary: 'give devices what they had before',
    load: () => import('./delivery/rollback.command.ts'),
  },
  { name: 'pair', summary: 'make this a device, by a code', load: () => import('./delivery/pair.command.ts') },
  {
    name: 'keys',
    summary: 'make, list and revoke API keys',
    commands: [
      { name: 'create', summary: 'make a key, shown this once', load: () => import('./keys/create.command.ts') },
      { name: 'list', summary: 'list keys', load: () => import('./keys/list.command.ts') },
      { name: 'revoke', summary: 'stop a key from working', load: () => import('./keys/revoke.command.ts') },
    ],
  },
  {
    name: 'train',
    summary: 'train a model with the fleet',
    commands: [
      { name: 'start', summary: 'train for a number of rounds', load: () => import('./train/start.command.ts') },
      { name: 'status', summary: 'see how a training goes', load: () => import('./train/status.command.ts') },
      { name: 'stop', summary: 'end a training at once', load: () => import('./train/stop.command.ts') },
      { name: 'cancel', summary: 'end one round at once', load: () => import('./train/cancel.command.ts') },
      {
        name: 'verify',
        summary: 'add a finished round up once more and compare the bytes',
        load: () => import('./train/verify.command.ts'),
      },
    ],
  },
  {
    name: 'federation',
    summary: 'train together with other organizations',
    commands: [
      { name: 'create', summary: 'found a federation', load: () => import('./federation/create.command.ts') },
      { name: 'invite', summary: 'invite organizations', load: () => import('./federation/invite.command.ts') },
      { name: 'join', summary: 'take up an invitation', load: () => import('./federation/join.command.ts') },
      { name: 'list', summary: 'list federations', load: () => import('./federation/list.command.ts') },
      { name: 'show', summary: 'show one of them', load: () => import('./federation/show.command.ts') },
      {
        name: 'members',
        summary: 'list members and what they contributed',
        load: () => import('./federation/members.command.ts'),
      },
      { name: 'share', summary: 'let members read a model', load: () => import('./federation/share.command.ts') },
      {
        name: 'budget',
        summary: 'show or set the privacy budget',
        load: () => import('./federation/budget.command.ts'),
      },
      {
        name: 'privacy',
        summary: 'list private rounds, or ask what one would cost',
        load: () => import('./federation/privacy.command.ts'),
      },
    ],
  },
  { name: 'logout', summary: 'sign out of a service', load: () => import('./login/logout.command.ts') },
  { name: 'agent', summary: 'run a training device in the foreground', load: () => import('./agent/agent.command.ts') },
  {
    name: 'add',
    summary: 'copy a model into the models folder of this machine',
    load: () => import('./models/add.command.ts'),
  },
  {
    name: 'remove',
    summary: 'delete a model from that folder',
    load: () => import('./models/remove.command.ts'),
  },
  {
    name: 'calibrate',
    summary: 'find out which of your prompts a smaller model can answer',
    load: () => import('./inference/calibrate.command.ts'),
  },
  {
    name: 'engines',
    summary: 'see, get and remove what runs models',
    commands: [
      { name: 'list', summary: 'list engines and how to get them', load: () => import('./engines/list.command.ts') },
      { name: 'install', summary: 'install an optional one', load: () => import('./engines/install.command.ts') },
      { name: 'remove', summary: 'remove it again', load: () => import('./engines/remove.command.ts') },
    ],
  },
]
