import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'
import { type DeploymentMethod, prepare, previewSchedule, type Requested, warningsBeyondFleet } from './deploy.ts'

const TARGETS_SHOWN = 20

/** Nothing if the key may not list devices. */
const named = (targets: readonly string[]): string => {
  if (targets.length === 0) return ''
  const more = targets.length - TARGETS_SHOWN
  return `: ${targets.slice(0, TARGETS_SHOWN).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

/** `45 min`, `0.05 min`, `9 h`, `2 h 30 min`. */
const timeOf = (minutes: number): string => {
  if (minutes < 120) return `${Number(minutes.toPrecision(4))} min`
  const whole = Math.round(minutes)
  return `${Math.floor(whole / 60)} h${whole % 60 === 0 ? '' : ` ${whole % 60} min`}`
}

/** Shows which devices would get the version, and when; changes nothing. @throws Failure if there are none */
export const dryRun = async (
  connection: Connection,
  requested: Requested,
  way: DeploymentMethod,
  { out }: Session,
  json: boolean,
): Promise<void> => {
  const prepared = await prepare(connection, requested)
  const seen = way.kind === 'rollout' ? await previewSchedule(connection, way.model.id, requested) : null
  // A rollout also reaches inactive devices when they become active.
  const total = seen?.target_devices ?? prepared.target_count
  const activeWords = total > prepared.target_count ? `, of which ${prepared.target_count} are active now` : ''
  const firstDevices = Math.ceil((prepared.target_count * requested.rollout) / 100)
  // A rollout is for the whole fleet, so the warning about missing targets is not needed.
  const warnings = seen?.warnings ?? prepared.warnings
  if (json) {
    out.json({
      dry_run: true,
      kind: way.kind,
      ...prepared,
      warnings,
      rollout_percentage: requested.rollout,
      ...(seen === null ? { activated_count: firstDevices } : { steps: seen.steps, version: seen.version }),
    })
  } else {
    for (const warning of warningsBeyondFleet(warnings)) out.note(warning)
    out.fields([
      ['Model', way.model?.name ?? requested.name],
      ['Version', seen?.version ?? requested.version],
      ['How', way.kind === 'rollout' ? 'rollout over the whole fleet' : `deployment, ${requested.strategy}`],
      ['Targets', total === 0 ? 'none' : `${total}${activeWords}${named(prepared.resolved_targets)}`],
    ])
    if (seen !== null) {
      out.line('')
      out.table(
        ['AFTER', 'REACHES', 'DEVICES'],
        seen.steps.map((step) => [timeOf(step.after_minutes), `${step.percentage}%`, `about ${step.devices}`]),
      )
    } else if (requested.rollout < 100) {
      out.line(`${requested.rollout}% of them: ${firstDevices}. The deployment's id decides which.`)
    }
    out.note('Nothing was changed.')
  }
  if (way.kind === 'deployment' && !prepared.ok) throw new Failure('There is no device to deploy to.')
}
