import { type Command, Option } from 'commander'
import type { Session } from '../session.ts'
import { engineOption, modelOrDefault, numberFrom } from './inference-options.ts'
import type { ServeOptions } from './serve-options.ts'

const ROUTE_STRATEGIES = ['complexity']
const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent']
const MAX_MEGABYTES = 4 * 1024 * 1024

const parseNames = (text: string): readonly string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)

export const define = (command: Command, session: Session): void => {
  command
    .argument('[model]', 'name of a model, name:variant, or a path (default: SERVICE_MODEL)')
    .addOption(
      new Option('-p, --port <port>', 'where it listens; 0 takes any that is free')
        .argParser(numberFrom({ min: 0, max: 65_535 }))
        .default(8080),
    )
    .option('--host <address>', 'which network it listens on; 127.0.0.1 keeps it to this machine', '0.0.0.0')
    .addOption(engineOption())
    .option('--benchmark', 'measure the model after the start')
    .option('--share', 'send what --benchmark found to the service; needs a key')
    .option('--json-mode', 'answers are JSON unless the request says otherwise')
    .addOption(
      new Option('--cache-size <MB>', 'memory for prompts that come again')
        .argParser(numberFrom({ min: 0, max: MAX_MEGABYTES }))
        .default(2048),
    )
    .option('--no-cache', 'keep no prompts')
    .addOption(
      new Option('--max-queue <count>', 'requests that may wait; 0 refuses those that cannot start at once')
        .argParser(numberFrom({ min: 0, max: 100_000 }))
        .default(32),
    )
    .addOption(new Option('--models <names>', 'further models, loaded when asked for').argParser(parseNames))
    .option('--auto-route', "choose a model for requests that name 'auto'; needs --models")
    .addOption(
      new Option('--route-strategy <strategy>', 'what that choice goes by')
        .choices(ROUTE_STRATEGIES)
        .default('complexity'),
    )
    .addOption(
      new Option('--compress-over <tokens>', 'take redundant context out of longer prompts').argParser(
        numberFrom({ min: 64, max: 10_000_000 }),
      ),
    )
    .addOption(
      new Option('--threads <count>', 'processor cores to use (default: all but one)').argParser(
        numberFrom({ min: 1, max: 1024 }),
      ),
    )
    .addOption(
      new Option('--context <tokens>', 'prompt and answer together').argParser(
        numberFrom({ min: 16, max: 10_000_000 }),
      ),
    )
    .addOption(
      new Option('--slots <count>', 'answers at the same time (default: 8)').argParser(
        numberFrom({ min: 1, max: 256 }),
      ),
    )
    .option('--draft <what>', 'speculate: prompt-lookup, first-layers, or the path of a small GGUF model')
    .option('--no-announce', 'do not tell the local network that it is there')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LOG_LEVELS).default('warn'))
    .action(async (given: string | undefined, options: ServeOptions) => {
      const { serve } = await import('./serve.ts')
      await serve(session, modelOrDefault(given ?? options.models?.[0], session), options)
    })
}
