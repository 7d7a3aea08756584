import type { Command } from 'commander'
import { sizeWords } from '../../domain/sizes.ts'
import { Failure } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Output } from '../output.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import { countWords, type ModelStatus, type PlanWithProgress, percentageWords, statusOf } from './status.ts'

interface StatusOptions extends DataOptions {
  readonly watch?: true
}

const FAILURES_SHOWN = 10
const VERSIONS_SHOWN = 10

const showModel = (out: Output, { name, model }: ModelStatus): void => {
  if (model === null) {
    out.fields([
      ['Model', name],
      ['Catalog', 'not in the catalog: devices resolve the name themselves'],
    ])
    return
  }
  out.fields([
    ['Model', model.name],
    ['Id', model.id],
    ['Versions', String(model.versions.length)],
  ])
  const newest = [...model.versions].sort((one, other) => other.version - one.version).slice(0, VERSIONS_SHOWN)
  if (newest.length === 0) return
  out.line('')
  const hasAliases = newest.some(({ aliases }) => (aliases ?? []).length > 0)
  out.table(
    ['VERSION', 'FORMAT', 'SIZE', 'UPLOADED', 'SHA256', ...(hasAliases ? ['ALIASES'] : [])],
    newest.map(({ version_label, format, model_size_bytes, uploaded_at, model_hash, aliases }) => [
      version_label,
      format,
      sizeWords(model_size_bytes),
      timeWords(uploaded_at),
      model_hash.replace('sha256:', '').slice(0, 12),
      ...(hasAliases ? [(aliases ?? []).join(', ') || null] : []),
    ]),
  )
}

const showPlans = (out: Output, plans: readonly PlanWithProgress[]): void => {
  out.line('')
  if (plans.length === 0) {
    out.line('It has no rollout or deployment.')
    return
  }
  out.table(
    ['PLAN', 'VERSION', 'STATUS', 'REACHES', 'NEXT STEP', 'DEVICES', 'ID'],
    plans.map((plan) => [
      plan.kind,
      plan.version,
      plan.status,
      percentageWords(plan),
      plan.nextStepAt === null ? null : timeWords(plan.nextStepAt),
      countWords(plan.counts),
      plan.id,
    ]),
  )
  for (const plan of plans) if (plan.reason !== null) out.line(`${plan.version}, ${plan.status}: ${plan.reason}`)
  for (const { version, warnings } of plans) for (const warning of warnings) out.line(`${version}: ${warning}`)
  const failures = plans.flatMap(({ version, failures: failed }) => failed.map((device) => ({ version, ...device })))
  if (failures.length === 0) return
  out.line('')
  out.table(
    ['FAILED', 'VERSION', 'REASON'],
    failures.slice(0, FAILURES_SHOWN).map(({ device_id, version, reason }) => [device_id, version, reason]),
  )
  const more = failures.length - FAILURES_SHOWN
  if (more > 0) out.line(`and ${more} more`)
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'a model, by name or id')
    .option('-w, --watch', 'follow the newest plan until it ends; exit code 1 if it is paused, failed, or rolled back')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { json, apiBase, watch: isWatched }: StatusOptions) => {
      const { out } = session
      const connection = await session.signedIn({ apiBase })
      const status = await statusOf(connection, name)
      if (json && !isWatched) return out.json(presented(status))
      if (!json) {
        showModel(out, status)
        showPlans(out, status.plans)
      }
      if (!isWatched) return
      const { watch } = await import('./watch.ts')
      if (!json) return watch(connection, status, session)
      // The document shows how the plan ended, also if it failed.
      const failure = await watch(connection, status, { ...session, out: { ...out, line: out.note } }).catch(asFailure)
      out.json(presented(await statusOf(connection, name)))
      if (failure) throw failure
    })
}

const asFailure = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  throw error
}

const presented = ({ name, model, plans }: ModelStatus) => ({
  model_name: name,
  model_id: model?.id ?? null,
  versions: model?.versions ?? [],
  plans: plans.map((plan) => ({
    kind: plan.kind,
    id: plan.id,
    version: plan.version,
    status: plan.status,
    percentage: plan.percentage,
    target_percentage: plan.targetPercentage,
    next_step_at: plan.nextStepAt,
    reason: plan.reason,
    since: plan.since,
    devices: plan.counts,
    warnings: plan.warnings,
    failures: plan.failures.map(({ device_id, reason }) => ({ device_id, reason })),
  })),
})
