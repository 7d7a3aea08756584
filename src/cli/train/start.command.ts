import { type Command, Option } from 'commander'
import { GOALS, type Goal } from '../../domain/metric-goal.ts'
import { plural } from '../../domain/plural.ts'
import { TIMEOUT_SECONDS } from '../../domain/round.ts'
import { ACCEPTED_STRATEGY_NAMES, type AcceptedStrategyName, DEFAULT_STRATEGY } from '../../domain/strategy-rules.ts'
import { OVER_SELECTION, PUBLISH, type Publish, WAIT_FOR_DEVICES_SECONDS } from '../../domain/training-job.ts'
import { wrongUsage } from '../failure.ts'
import {
  apiBaseOption,
  type DataOptions,
  jsonOption,
  keyValue,
  numberAboveZero,
  numberFrom,
  wholeAboveZero,
} from '../options.ts'
import { type OptionNames, withOptionNames } from '../resources/option-names.ts'
import type { Session } from '../session.ts'

interface StartOptions extends DataOptions {
  readonly strategy: AcceptedStrategyName
  readonly rounds: number
  readonly minDevices: number
  readonly targetDevices?: number
  readonly overSelection?: number
  readonly group?: string
  readonly federation?: string
  readonly name?: string
  readonly timeout?: number
  readonly reportWindow?: number
  readonly waitForDevices?: number
  readonly option: Readonly<Record<string, unknown>>
  readonly hyperparameter: Readonly<Record<string, unknown>>
  readonly noiseMultiplier?: number
  readonly targetEpsilon?: number
  readonly clipNorm?: number
  readonly adaptiveClip?: true
  readonly secureAggregation?: number | true
  readonly rawVector?: true
  readonly stopBelow?: number
  readonly patience: number
  readonly metric?: string
  readonly goal?: Goal
  readonly follow?: true
  readonly publish: Publish
}

const privacyOf = ({ noiseMultiplier, targetEpsilon, clipNorm, adaptiveClip }: StartOptions) => {
  if (noiseMultiplier === undefined && targetEpsilon === undefined && clipNorm === undefined) return undefined
  if (clipNorm === undefined || (noiseMultiplier === undefined) === (targetEpsilon === undefined)) {
    throw wrongUsage('Privacy needs --clip-norm and either --noise-multiplier or --target-epsilon.')
  }
  return {
    clip_norm: clipNorm,
    ...(noiseMultiplier === undefined ? { target_epsilon: targetEpsilon! } : { noise_multiplier: noiseMultiplier }),
    ...(adaptiveClip && { adaptive_clip: true }),
  }
}

/** The fields that differ from their options in more than a dash. */
const OPTION_NAMES: OptionNames = [
  ['min_devices', '--min-devices'],
  ['target_devices', '--target-devices'],
  ['over_selection', '--over-selection'],
  ['timeout_seconds', '--timeout'],
  ['report_window_seconds', '--report-window'],
  ['wait_for_devices_seconds', '--wait-for-devices'],
  ['strategy_options', '--option'],
  ['hyperparameters', '--hyperparameter'],
  ['privacy.clip_norm', '--clip-norm'],
  ['privacy.noise_multiplier', '--noise-multiplier'],
  ['privacy.target_epsilon', '--target-epsilon'],
  ['secure_aggregation.threshold', '--secure-aggregation'],
  ['secure_aggregation', '--secure-aggregation'],
  ['stop_when.improvement_below', '--stop-below'],
  ['stop_when.patience', '--patience'],
  ['stop_when', '--stop-below'],
  ['metric', '--metric'],
  ['group_id', '--group'],
  ['model', '<model>'],
]

/** Builds the request from the options. @throws Failure if they contradict each other */
const jobRequestOf = (model: string, options: StartOptions) => {
  const privacy = privacyOf(options)
  if (options.metric === undefined && options.goal !== undefined)
    throw wrongUsage('--goal says which values of --metric are better.', 'Add --metric, or leave --goal out.')
  if (options.metric !== undefined && options.stopBelow === undefined && options.publish !== 'best')
    throw wrongUsage('--metric applies only to --stop-below and --publish best.', 'Leave it out, or add one of them.')
  return {
    model,
    strategy: options.strategy,
    rounds: options.rounds,
    min_devices: options.minDevices,
    ...(options.publish !== 'last' && { publish: options.publish }),
    strategy_options: options.option,
    hyperparameters: options.hyperparameter,
    ...(options.targetDevices !== undefined && { target_devices: options.targetDevices }),
    ...(options.overSelection !== undefined && { over_selection: options.overSelection }),
    ...(options.group !== undefined && { group: options.group }),
    ...(options.name !== undefined && { name: options.name }),
    ...(options.timeout !== undefined && { timeout_seconds: options.timeout }),
    ...(options.reportWindow !== undefined && { report_window_seconds: options.reportWindow }),
    ...(options.waitForDevices !== undefined && { wait_for_devices_seconds: options.waitForDevices }),
    ...(privacy && { privacy }),
    ...(options.secureAggregation !== undefined && {
      secure_aggregation: options.secureAggregation === true ? {} : { threshold: options.secureAggregation },
    }),
    ...(options.rawVector && { raw_vector: true }),
    ...(options.stopBelow !== undefined && {
      stop_when: { improvement_below: options.stopBelow, patience: options.patience },
    }),
    ...(options.metric !== undefined && { metric: options.metric }),
    ...(options.goal !== undefined && { goal: options.goal }),
  }
}

const start = async (session: Session, model: string, options: StartOptions): Promise<void> => {
  const { out } = session
  const request = jobRequestOf(model, options)
  const connection = await session.signedIn({ apiBase: options.apiBase })
  const { followToResult } = await import('./follow.ts')
  const { jobById } = await import('./job.ts')
  const { find } = await import('../resources/find.ts')
  const context = { connection, session, org: undefined }
  const found = options.federation === undefined ? null : await find(context, 'federation', options.federation)
  const body = { ...request, ...(found !== null && { federation: String(found.federation_id) }) }
  const job = await connection
    .request((client) => client.POST('/api/v1/training/jobs', { body }))
    .catch((error: unknown) => Promise.reject(withOptionNames(error, OPTION_NAMES)))
  if (!options.follow) {
    if (options.json) return out.json(await jobById(connection, job.id))
    out.line(`Started job ${job.id}: ${plural(job.rounds, 'round')} of ${job.strategy} on ${model}.`)
    return out.note(`Watch it with: svc train status ${job.id} --follow`)
  }
  out.note(`Job ${job.id}: ${plural(job.rounds, 'round')} of ${job.strategy} on ${model}.`)
  await followToResult(session, connection, job.id, options.json === true)
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<model>', 'the model to train, by name or id; name@version starts from that version')
    .addOption(
      new Option('--strategy <strategy>', 'aggregation strategy')
        .choices([...ACCEPTED_STRATEGY_NAMES])
        .default(DEFAULT_STRATEGY),
    )
    .option('--rounds <count>', 'number of rounds', wholeAboveZero, 10)
    .option('--min-devices <count>', 'minimum number of updates in a round', wholeAboveZero, 2)
    .option('--group <group>', 'only devices of this group, by name or id')
    .option(
      '--target-devices <count>',
      'number of devices to aim for in each round (default: --min-devices; with privacy, the lowest that works)',
      wholeAboveZero,
    )
    .option(
      '--over-selection <factor>',
      `select this multiple of the target devices (default: ${OVER_SELECTION.default})`,
      numberFrom({ min: 1, whole: false }),
    )
    .option('--federation <federation>', 'devices of all active members of a federation, by name or id')
    .option('--name <name>', 'a name for the job')
    .option(
      '--timeout <seconds>',
      `maximum duration of a round, ${TIMEOUT_SECONDS.min} to ${TIMEOUT_SECONDS.max} (default: ${TIMEOUT_SECONDS.default})`,
      wholeAboveZero,
    )
    .option(
      '--report-window <seconds>',
      'how long to wait for more updates once --min-devices have arrived (default: a tenth of --timeout, 5 to 60)',
      numberFrom({ min: 0, whole: false }),
    )
    .option(
      '--wait-for-devices <seconds>',
      `how long to wait for enough active devices (default: ${WAIT_FOR_DEVICES_SECONDS.default})`,
      wholeAboveZero,
    )
    .addOption(
      new Option('--option <key=value>', 'an option of the strategy, such as trim=0.1; repeatable')
        .argParser(keyValue)
        .default({}, 'none'),
    )
    .addOption(
      new Option(
        '--hyperparameter <key=value>',
        'hyperparameter for the devices, such as learning_rate=0.05; repeatable',
      )
        .argParser(keyValue)
        .default({}, 'none'),
    )
    .option('--clip-norm <norm>', 'clip each update to this L2 norm', numberAboveZero)
    .option('--noise-multiplier <ratio>', 'noise standard deviation in units of the clip norm', numberAboveZero)
    .option('--target-epsilon <epsilon>', 'choose the noise that keeps the job within this epsilon', numberAboveZero)
    .option('--adaptive-clip', 'adapt the clip norm to the updates')
    .option(
      '--secure-aggregation [threshold]',
      'mask the updates; this many devices must complete the round (default: two thirds of those selected, at least --min-devices)',
      wholeAboveZero,
    )
    .option('--raw-vector', 'model and updates are raw little-endian float32 vectors')
    .option(
      '--stop-below <improvement>',
      'stop when the metric improves by less than this',
      numberFrom({ min: 0, whole: false }),
    )
    .option(
      '--metric <name>',
      'metric for --stop-below and --publish best: loss (default), accuracy, f1, evaluation.f1',
    )
    .addOption(
      new Option('--goal <direction>', 'which values of --metric are better (default: inferred from its name)').choices(
        [...GOALS],
      ),
    )
    .option('--patience <rounds>', 'number of rounds that --stop-below looks at', wholeAboveZero, 3)
    .addOption(
      new Option('--publish <which>', 'results to publish as versions: the last, every one, or each new best')
        .choices([...PUBLISH])
        .default('last'),
    )
    .option('--follow', 'follow the rounds until the job ends')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action((model: string, options: StartOptions) => start(session, model, options))
}
