import { Argument, type Command } from 'commander'
import { numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import { AGENTS, DEFAULT_MODEL } from './agents.ts'
import type { LaunchOptions } from './launch.ts'

export const define = (command: Command, session: Session): void => {
  command
    .addArgument(new Argument('<agent>', 'coding agent').choices(AGENTS.map(({ name }) => name)))
    .argument('[arguments...]', 'arguments of the agent, after --')
    .option(
      '-m, --model <model>',
      `name of a model, a path, hf:org/model, or ollama:name (default: SERVICE_MODEL, else ${DEFAULT_MODEL})`,
    )
    .option(
      '-p, --port <port>',
      'port of the server; started if none runs there',
      numberFrom({ min: 1, max: 65_535 }),
      8080,
    )
    .action(async (agent: string, rest: readonly string[], options: LaunchOptions) => {
      const { launch } = await import('./launch.ts')
      await launch(session, agent, rest, options)
    })
}
