import { type Command, InvalidArgumentError, Option } from 'commander'
import { decimalNumber } from '../../domain/decimal-number.ts'
import { STRATEGIES } from '../../domain/deployment.ts'
import { shellWord } from '../../domain/shell-word.ts'
import type { Connection } from '../connection.ts'
import { apiBaseOption, type DataOptions, jsonOption, numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import type { DeploymentMethod, Requested } from './deploy.ts'

interface DeployOptions extends DataOptions, Omit<Requested, 'name'> {
  readonly phone?: true
  readonly dryRun?: true
  readonly allowUnknown?: true
  readonly yes?: true
}

const MONTH_MINUTES = 60 * 24 * 31

const parsePercentage = numberFrom({ min: 1, max: 100 })

const parseMinutes = (text: string): number => {
  const value = decimalNumber(text)
  if (value > 0 && value <= MONTH_MINUTES) return value
  throw new InvalidArgumentError('It must be a number of minutes, more than 0 and at most a month.')
}

const parseDevices = (text: string): readonly string[] => {
  const names = text.split(',').map((name) => name.trim())
  if (names.every((name) => name !== '' && name.length <= 255)) return [...new Set(names)]
  throw new InvalidArgumentError('It must be device names separated by commas, such as pixel-7,pixel-8.')
}

/** What a deployment without targets reaches, in words. */
const extentOf = ({ rollout }: Requested, { kind }: DeploymentMethod): string => {
  if (rollout === 100) return 'the whole fleet at once'
  return kind === 'rollout' ? `the whole fleet, beginning with ${rollout}%` : `${rollout}% of the fleet`
}

/** Starts the rollout or deployment and prints the next steps. */
const carryOut = async (
  connection: Connection,
  requested: Requested,
  way: DeploymentMethod,
  { out }: Session,
  json: boolean,
): Promise<void> => {
  const { execute, startRollout, warningsBeyondFleet } = await import('./deploy.ts')
  if (way.kind === 'rollout') {
    const rollout = await startRollout(connection, way.model.id, requested)
    for (const warning of rollout.warnings) out.note(warning)
    if (json) return out.json({ kind: 'rollout', ...rollout })
    const climbs = `${rollout.increment_step}% more every ${rollout.step_interval_minutes} min while it is healthy`
    out.fields([
      ['Rollout', rollout.rollout_id],
      ['Model', rollout.model_name],
      ['Version', rollout.version],
      ['Reaches', rollout.percentage < 100 ? `${rollout.percentage}% of the fleet, ${climbs}` : 'the whole fleet'],
      ['If it fails', 'it is rolled back automatically'],
    ])
  } else {
    const deployment = await execute(connection, requested)
    for (const warning of warningsBeyondFleet(deployment.warnings)) out.note(warning)
    if (json) return out.json({ kind: 'deployment', ...deployment })
    out.fields([
      ['Deployment', deployment.deployment_id],
      ['Status', deployment.status],
      ['Devices', `${deployment.activated_count} of ${deployment.target_count}`],
      ['Strategy', requested.strategy],
    ])
    if (deployment.approval_id !== undefined)
      return out.note(`Another admin must approve it: svc approvals approve ${deployment.approval_id}`)
  }
  out.note(`Watch it with: svc status ${shellWord(requested.name)} --watch`)
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'a model, by name or id, or name@version')
    .option('-v, --version <version>', 'version, alias, or latest', 'latest')
    .addOption(
      new Option('--phone', 'pair a phone and deploy to it').conflicts([
        'devices',
        'group',
        'rollout',
        'strategy',
        'step',
        'interval',
        'dryRun',
      ]),
    )
    .option('-r, --rollout <percent>', 'initial percentage, 1 to 100', parsePercentage, 100)
    .addOption(
      new Option('-s, --strategy <strategy>', 'deployment strategy; canary rolls back automatically on failure')
        .choices(STRATEGIES)
        .default('canary'),
    )
    .addOption(new Option('-t, --target <platform>', 'only devices of this platform').choices(['ios', 'android']))
    .option('--devices <names>', 'only these devices, comma-separated', parseDevices)
    .option('-g, --group <group>', 'only devices of this group, by name or id')
    .option('--step <percent>', 'of a rollout: increase at each step (default: 10)', parsePercentage)
    .option('--interval <minutes>', 'of a rollout: minutes between steps (default: 60)', parseMinutes)
    .option('--dry-run', 'show the affected devices and change nothing')
    .option('--allow-unknown', 'accept a name that is not in the catalog, for devices that resolve it themselves')
    .option('-y, --yes', 'deploy to the whole fleet without confirmation')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (model: string, options: DeployOptions) => {
      const json = options.json === true
      const connection = await session.signedIn({ apiBase: options.apiBase })
      const { deployedModel, referenced } = await import('../model-sources/catalog.ts')
      const { name, version } = await referenced(connection, model, options.version)
      if (options.phone) {
        const { deployToPhone } = await import('./phone.ts')
        if (!options.allowUnknown) await deployedModel(connection, name)
        return deployToPhone(
          connection,
          { name, version, platform: options.target, json, apiBase: options.apiBase },
          session,
        )
      }
      const requested: Requested = { ...options, name, version }
      const { isWholeFleet, prepare, deploymentMethodOf } = await import('./deploy.ts')
      const way = await deploymentMethodOf(connection, requested, options.allowUnknown === true)
      if (options.dryRun) {
        const { dryRun } = await import('./deploy-dry-run.ts')
        return dryRun(connection, requested, way, session, json)
      }
      if (isWholeFleet(requested) && !options.yes) {
        const { target_count: active } = await prepare(connection, requested)
        const { confirm } = await import('../confirm.ts')
        await confirm(session.io, `Deploying '${name}' to ${extentOf(requested, way)} (active devices now: ${active})`)
      }
      await carryOut(connection, requested, way, session, json)
    })
}
