import { cpus, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { AgentOptions } from '../../agent/agent.ts'
import { ApiError } from '../../client/client.ts'
import { decimalNumber } from '../../domain/decimal-number.ts'
import { PLATFORMS, type Platform } from '../../domain/device.ts'
import { toFailure } from '../connection.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { apiBaseOption, keyValue, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface AgentCommandOptions extends ServiceOptions {
  readonly data?: string
  readonly label?: string
  readonly classes?: readonly string[]
  readonly trainer?: string
  readonly onModel?: string
  readonly modelsDir?: string
  readonly measureInterval: number
  readonly deviceId?: string
  readonly deviceKey?: string | true
  readonly platform: Platform
  readonly capability?: Readonly<Record<string, unknown>>
  readonly interval?: number
  readonly once?: true
  readonly join?: string
}

const SYSTEM_PLATFORMS: Readonly<Record<string, Platform>> = { darwin: 'macos', linux: 'linux', win32: 'windows' }

/** Long enough for a hook that restarts a server and waits for it. */
const HOOK_SECONDS = 600

const parseClasses = (text: string): readonly string[] => {
  const names = text.split(',').map((name) => name.trim())
  if (names.length >= 2 && names.every(Boolean) && new Set(names).size === names.length) return names
  throw new InvalidArgumentError('It must name at least two different classes, such as cat,dog.')
}

const parseCommand = (text: string): string => {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It must be a command, such as ./reload.sh.')
}

const parseSeconds =
  (most: number) =>
  (text: string): number => {
    const seconds = decimalNumber(text)
    if (seconds >= 1 && seconds <= most) return seconds
    throw new InvalidArgumentError(`It must be a number of seconds from 1 to ${most}.`)
  }

const makeTrainer = async (options: AgentCommandOptions, { io, out }: Session): Promise<AgentOptions['trainer']> => {
  const { data, label, classes, trainer: command } = options
  if (command !== undefined) {
    const { commandTrainer } = await import('../../agent/command-trainer.ts')
    return () => commandTrainer({ command, cwd: io.cwd, onLine: (line) => out.note(`trainer: ${line}`) })
  }
  if (data === undefined && (options.onModel !== undefined || options.join !== undefined)) {
    const { noTrainer } = await import('../../agent/agent-trainer.ts')
    return () => noTrainer
  }
  if (data === undefined) {
    throw wrongUsage(
      'No work was configured for this device.',
      'Give --data <file.csv> for the built-in trainer, --trainer "<command>" for your own, or --on-model "<command>" ' +
        'to run delivered models only.',
    )
  }
  const { readCsv } = await import('../../agent/csv.ts')
  const { builtInTrainer } = await import('../../agent/built-in-trainer.ts')
  // Reads the file before registering, so that an unusable file is reported immediately.
  const table = await readCsv(resolve(io.cwd, data), label)
  return (deviceId) => builtInTrainer({ table, deviceId, ...(classes && { classes }) })
}

const makeHook = async ({ onModel }: AgentCommandOptions, { io, out }: Session) => {
  if (onModel === undefined) return null
  const { commandHook } = await import('../../agent/delivery/model-hook.ts')
  const onLine = (line: string): void => out.note(`on-model: ${line}`)
  return commandHook({ command: onModel, cwd: io.cwd, timeoutSeconds: HOOK_SECONDS, onLine })
}

const readDeviceKey = async ({ deviceId, deviceKey }: AgentCommandOptions, { io }: Session): Promise<string> => {
  if (deviceId === undefined) throw wrongUsage('A device key belongs to one device.', 'Also give --device-id <id>.')
  const { askForKey, requireKeyShape } = await import('../ask-for-key.ts')
  const key = typeof deviceKey === 'string' ? deviceKey.trim() : (await askForKey(io)).trim()
  requireKeyShape(key)
  return key
}

/** Returns the service's address. Claims the pairing code, unless this machine is already a device of that service. */
const join = async (text: string, { deviceId, platform }: AgentCommandOptions, session: Session): Promise<string> => {
  const { parseJoinCode } = await import('./join-code.ts')
  const { openAgentState } = await import('../../agent/agent-state.ts')
  const { baseUrl, code } = parseJoinCode(text)
  const known = await (await openAgentState(session.home.folder, baseUrl, deviceId ?? null)).load()
  if (known !== null) {
    session.out.note(`This machine is already device ${known.deviceId} of ${baseUrl}; the code was not used.`)
    return baseUrl
  }
  const { claimCode } = await import('./claim.ts')
  const claim = { baseUrl, code, deviceId: deviceId ?? null, platform, deviceName: null }
  const { identity } = await claimCode(claim, session)
  session.out.line(`Joined ${baseUrl} as ${identity.deviceId}.`)
  return baseUrl
}

const capabilitiesOf = ({ capability }: AgentCommandOptions): Readonly<Record<string, unknown>> => ({
  cpu: cpus()[0]?.model ?? 'unknown',
  memory_gb: Math.round(totalmem() / 2 ** 30),
  ...capability,
})

export const define = (command: Command, session: Session): void => {
  command
    .option('--data <file.csv>', 'train the built-in model on this file')
    .addOption(new Option('--label <column>', 'name or position of the label (default: label, y, target, or the last)'))
    .option('--classes <names>', 'class names in the order of their indices', parseClasses)
    .addOption(
      new Option('--trainer <command>', 'train with your own program')
        .argParser(parseCommand)
        .conflicts(['data', 'label', 'classes']),
    )
    .option(
      '--on-model <command>',
      'command to run when the active version changes; its environment has MODEL_PATH, MODEL_VERSION, ...',
      parseCommand,
    )
    .option('--models-dir <folder>', 'folder for delivered versions (default: next to the device key)')
    .option(
      '--measure-interval <seconds>',
      'seconds between measurements of delivered versions',
      parseSeconds(86_400),
      1800,
    )
    .option('--device-id <id>', 'name of this device (default: generated once and stored)')
    .option('--device-key [key]', 'key of a device that is already registered; without a value, svc asks for it')
    .addOption(
      new Option('--platform <platform>', 'platform of the device')
        .choices(PLATFORMS)
        .default(SYSTEM_PLATFORMS[process.platform] ?? 'unknown', "this machine's"),
    )
    .option('--capability <key=value>', 'a capability of this device, such as site=bonn; repeatable', keyValue)
    .option('--interval <seconds>', 'seconds between heartbeats (default: as the service requests)', parseSeconds(3600))
    .addOption(
      new Option(
        '--join <code>',
        'address and pairing code, as svc devices invite prints them (ABCD-2345@http://...)',
      ).conflicts(['apiBase', 'deviceKey']),
    )
    .option('--once', 'exit after one round, with exit code 1 if it failed')
    .addOption(apiBaseOption())
    .action(async (options: AgentCommandOptions) => {
      const { io, out, home } = session
      const trainer = await makeTrainer(options, session)
      const hook = await makeHook(options, session)
      const deviceKey = options.deviceKey === undefined ? null : await readDeviceKey(options, session)
      const baseUrl =
        options.join === undefined ? await session.apiBase(options.apiBase) : await join(options.join, options, session)
      // If the service requires a key to register, the signed-in user's key admits the device.
      const admission = await session.apiKey(baseUrl)
      const { RoundFailed, runAgent } = await import('../../agent/agent.ts')
      try {
        await runAgent({
          baseUrl,
          stateDir: home.folder,
          trainer,
          trains: options.data !== undefined || options.trainer !== undefined,
          platform: options.platform,
          capabilities: capabilitiesOf(options),
          ...(options.interval !== undefined && { intervalSeconds: options.interval }),
          restateSeconds: options.measureInterval,
          ...(hook !== null && { hook }),
          ...(options.modelsDir !== undefined && { modelsFolder: resolve(io.cwd, options.modelsDir) }),
          signal: io.signal,
          now: () => session.now().getTime(),
          log: out.line,
          ...(options.deviceId !== undefined && { deviceId: options.deviceId }),
          ...(deviceKey !== null && { apiKey: deviceKey }),
          ...(admission !== null && { enrollmentToken: admission.key }),
          ...(options.once && { rounds: 1 }),
        })
      } catch (error) {
        if (error instanceof RoundFailed) throw new Failure(error.message, { cause: error })
        if (!(error instanceof ApiError)) throw error
        if (deviceKey === null || error.code !== 'unauthorized') {
          throw toFailure(error, { baseUrl, keySource: admission?.source })
        }
        const advice = 'Pass the key that the device received when it was registered: --device-key <key>'
        throw new Failure(error.message, { advice, cause: error })
      }
    })
}
