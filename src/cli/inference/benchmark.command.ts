import type { Command } from 'commander'
import { apiBaseOption, jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import type { BenchmarkCommandOptions } from './benchmark.ts'
import { engineOption, maxTokensOption, modelOrDefault, threadsOption } from './inference-options.ts'

export const define = (command: Command, session: Session): void => {
  command
    .argument(
      '[model]',
      'a model on this machine or in the catalog (name@version), a path, hf:org/model, or ollama:name (default: SERVICE_MODEL)',
    )
    .option('--local', 'do not share the result')
    .option('-n, --iterations <count>', 'number of measured replies', numberFrom({ min: 1, max: 10_000 }), 10)
    .addOption(maxTokensOption(50))
    .addOption(engineOption())
    .option('--all-engines', 'measure every engine that can run the model')
    .addOption(threadsOption())
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .addHelpText(
      'after',
      '\nWith an API key, statistics of hardware and speed are shared unless --local is given: every field is printed before it\nis sent. Prompts, replies, weights, names, addresses, and device ids are never sent.',
    )
    .action(async (model: string | undefined, options: BenchmarkCommandOptions) => {
      const { runBenchmark } = await import('./benchmark.ts')
      await runBenchmark(session, modelOrDefault(model, session), options)
    })
}
