import type { CommandEntry, CommandGroup } from './command.ts'

/** Every command there is, in the order of the interface's table; our own come last. */
export const COMMANDS: readonly (CommandEntry | CommandGroup)[] = [
  { name: 'run', summary: 'ask a model on this machine', load: () => import('./inference/run.command.ts') },
  { name: 'serve', summary: 'serve models in the style of OpenAI', load: () => import('./inference/serve.command.ts') },
  { name: 'login', summary: 'sign in to a service', load: () => import('./login/login.command.ts') },
  { name: 'init', summary: 'create an organisation and work in it', load: () => import('./org/init.command.ts') },
  { name: 'org', summary: "show the organisation's settings", load: () => import('./org/org.command.ts') },
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
    summary: 'look after training rounds',
    commands: [
      {
        name: 'verify',
        summary: 'add a finished round up once more and compare the bytes',
        load: () => import('./train/verify.command.ts'),
      },
    ],
  },
  { name: 'agent', summary: 'run a training device in the foreground', load: () => import('./agent/agent.command.ts') },
]
