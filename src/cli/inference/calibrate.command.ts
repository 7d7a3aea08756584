import { type Command, Option } from 'commander'
import { jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import type { CalibrateOptions } from './calibrate.ts'
import { engineOption, maxTokensOption, parseNames, threadsOption } from './inference-options.ts'

export const define = (command: Command, session: Session): void => {
  command
    .addOption(
      new Option('--models <names>', 'models to choose from, such as small,big')
        .argParser(parseNames)
        .makeOptionMandatory(),
    )
    .requiredOption('--prompts <file>', 'your prompts: lines of {"input": "…"}, with "expected_output" if it is known')
    .option('--reference <name>', 'model whose replies replace a missing expected_output (default: the largest)')
    .option(
      '--keep <share>',
      "share of the reference's quality to keep",
      numberFrom({ min: 0, max: 1, whole: false }),
      0.95,
    )
    .addOption(maxTokensOption(256))
    .addOption(engineOption())
    .addOption(threadsOption())
    .addOption(jsonOption())
    .action(async (options: CalibrateOptions) => {
      const { calibrate } = await import('./calibrate.ts')
      await calibrate(session, options)
    })
}
