import { type Command, Option } from 'commander'
import { numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import {
  contextOption,
  engineOption,
  loraOption,
  modelOrDefault,
  parseNames,
  threadsOption,
} from './inference-options.ts'
import type { ServeOptions } from './serve-options.ts'

const ROUTE_STRATEGIES = ['complexity']
const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'silent']
const MAX_MEGABYTES = 4 * 1024 * 1024

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[model]',
      'a model on this machine or in the catalog (name@version), a path, hf:org/model, or ollama:name (default: SERVICE_MODEL)',
    )
    .option('-p, --port <port>', 'port to listen on; 0 picks a free one', numberFrom({ min: 0, max: 65_535 }), 8080)
    .option('--host <address>', 'address to listen on; 127.0.0.1 for this machine only', '0.0.0.0')
    .addOption(engineOption())
    .option('--benchmark', 'measure the model after startup')
    .option('--share', 'send the result of --benchmark to the service; needs a key')
    .option('--json-mode', 'reply in JSON unless the request says otherwise')
    .option('--cache-size <MB>', 'memory for the prompt cache', numberFrom({ min: 0, max: MAX_MEGABYTES }), 2048)
    .option('--no-cache', 'turn the prompt cache off')
    .option(
      '--max-queue <count>',
      'maximum number of queued requests; 0 refuses requests that cannot start at once',
      numberFrom({ min: 0, max: 100_000 }),
      32,
    )
    .option('--models <names>', 'other models to serve, comma-separated; loaded on request', parseNames)
    .option('--auto-route', "route requests for the model 'auto'; needs --models")
    .addOption(
      new Option('--route-strategy <strategy>', 'routing strategy').choices(ROUTE_STRATEGIES).default('complexity'),
    )
    .option('--compress-over <tokens>', 'compress prompts longer than this', numberFrom({ min: 64, max: 10_000_000 }))
    .addOption(threadsOption())
    .addOption(contextOption())
    .option(
      '--slots <count>',
      'number of parallel requests (default: 8, or 4 for models with a large cache)',
      numberFrom({ min: 1, max: 256 }),
    )
    .option(
      '--unload-after <minutes>',
      'unload a model after this idle time; the next request loads it again (default: never)',
      numberFrom({ min: 1, max: 10_080 }),
    )
    .option('--draft <what>', 'speculative decoding: prompt-lookup, first-layers, or the path of a small GGUF model')
    .addOption(loraOption())
    .option('--api-key <key>', 'API key that requests must send (default: SERVICE_SERVER_KEY, else none)')
    .option('--no-announce', 'do not announce the server on the local network')
    .addOption(new Option('--log-level <level>', 'log level').choices(LOG_LEVELS).default('warn'))
    .action(async (given: string | undefined, options: ServeOptions) => {
      const { serve } = await import('./serve.ts')
      await serve(session, modelOrDefault(given ?? options.models?.[0], session), options)
    })
}
