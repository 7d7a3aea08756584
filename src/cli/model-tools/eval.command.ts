import { type Command, InvalidArgumentError, Option } from 'commander'
import { maxTokensOption, parseNames } from '../inference/inference-options.ts'
import { jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import type { EvalOptions } from './eval.ts'
import { METRICS, type Metric } from './eval-metrics.ts'

const parseMetrics = (text: string): readonly Metric[] => {
  const names = parseNames(text)
  const unknown = names.find((name) => !METRICS.some((metric) => metric === name))
  if (unknown === undefined) return [...new Set(names)] as Metric[]
  throw new InvalidArgumentError(`'${unknown}' is not one of ${METRICS.join(', ')}.`)
}

const NOTES = `
Similarity is the cosine of embeddings if the server has an embedding model, else the token F1. The threshold
applies to the mean similarity or, without similarity, to the share of exact matches. Below it, the exit code is 1.

Examples:
  svc eval starter --test-data test.jsonl --api-base http://127.0.0.1:8080
  svc eval small -d test.jsonl --compare large --results results.jsonl --json`

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model_id>', 'a model of the inference server')
    .requiredOption('-d, --test-data <file>', 'lines of {"input": "…"}, with "expected_output" if it is known')
    .option('-t, --threshold <share>', 'lowest quality that passes', numberFrom({ min: 0, max: 1, whole: false }), 0.95)
    .option('--api-base <url>', 'inference server (default: SERVICE_API_BASE, else http://127.0.0.1:8000)')
    .addOption(
      new Option('-m, --metrics <names>', 'metrics: similarity, exact_match, latency')
        .argParser(parseMetrics)
        .default([...METRICS], METRICS.join(',')),
    )
    .option('--compare <model_id>', 'evaluate a second model on the same lines, with a paired test')
    .option('--embedding-model <model_id>', 'model of the server that computes embeddings')
    .option('--results <file>', 'file for the results, one per line; a repeated run continues where it stopped')
    .option('--concurrency <count>', 'number of parallel requests', numberFrom({ min: 1, max: 256 }), 4)
    .addOption(maxTokensOption(256))
    .addOption(jsonOption())
    .addHelpText('after', NOTES)
    .action(async (model: string, options: EvalOptions) => {
      const { evaluate } = await import('./eval.ts')
      await evaluate(model, options, session)
    })
}
