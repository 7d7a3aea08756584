import type { Command } from 'commander'
import { shellWord } from '../../domain/shell-word.ts'
import { confirm } from '../confirm.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import type { ModelDetail } from '../model-sources/catalog.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import type { Plan } from './plans.ts'

interface RollbackOptions extends DataOptions {
  readonly toVersion: string
  readonly yes?: true
}

interface Requested {
  readonly name: string
  readonly model: ModelDetail
  /** The label of the version. */
  readonly version: string
  readonly plans: readonly Plan[]
}

/**
 * Returns the rollout of the version to the whole fleet: the model's newest plan, if it is that or waits for approval, so that
 * the command can be repeated; otherwise a new one.
 */
const rolloutTo = async (connection: Connection, { name, model, version, plans }: Requested) => {
  const { canBeWithdrawn, rolloutOf } = await import('./plans.ts')
  const isRequested = (plan: Plan): boolean => plan.reachesAll && plan.version === version
  for (const waiting of plans.filter((plan) => plan.status === 'pending' && isRequested(plan))) {
    const rollout = await rolloutOf(connection, model.id, waiting.id)
    if (rollout.approval_id !== undefined) return rollout
  }
  const newest = plans.find(canBeWithdrawn)
  // A deployment may have started later than it was created, once it was approved.
  const isNewer = ({ kind, endedAt }: Plan): boolean =>
    kind === 'deployment' && endedAt !== null && endedAt > newest!.since
  if (newest !== undefined && newest.status !== 'paused' && isRequested(newest) && !plans.some(isNewer))
    return rolloutOf(connection, model.id, newest.id)
  const { startRollout } = await import('./deploy.ts')
  const created = await startRollout(connection, model.id, { name, version, rollout: 100, strategy: 'immediate' })
  return rolloutOf(connection, model.id, created.rollout_id)
}

/** A plan was withdrawn since the newest one in force had started, which is thus what devices are to have now. */
const alreadyRolledBack = (name: string, model: ModelDetail | null, withdrawn: Plan, inForce: readonly Plan[]) => {
  const { kind, id, version, status, reason, endedAt, endedByService } = withdrawn
  const how =
    status === 'failed' ? 'failed and was withdrawn' : `was rolled back${endedByService ? ' automatically' : ''}`
  const when = endedAt === null ? '' : ` at ${timeWords(endedAt)} UTC`
  const [newest, ...older] = inForce as [Plan, ...Plan[]]
  const earlier = older.find((plan) => plan.version !== newest.version)?.version ?? '<version>'
  const advice = [
    `Nothing was changed. The newest plan that is still in force is the ${newest.kind} of version ${newest.version}.`,
    `To roll it back, too: svc ${newest.kind}s rollback ${newest.id}`,
    ...(model === null
      ? []
      : [`To give the whole fleet an earlier version: svc rollback ${shellWord(name)} --to-version ${earlier}`]),
  ]
  return new Failure(
    `The ${kind} of version ${version} of '${name}' (${id}) ${how}${when}${reason === null ? '.' : `: ${reason}`}`,
    { advice: advice.join('\n') },
  )
}

/** Gives the whole fleet a version. */
const rollBackTo = async (connection: Connection, requested: Requested, { out }: Session, json: boolean) => {
  const { name, model, plans } = requested
  const { canBeWithdrawn, experimentsOn, isOpen, rolloutOf, withdraw } = await import('./plans.ts')
  // Before the others are withdrawn, so that no device gets a third version, or none, in between.
  const rollout = await rolloutTo(connection, requested)
  const { rollout_id: id, version } = rollout
  if (rollout.status === 'pending') {
    if (json) out.json({ rolled_back: [], paused_experiments: [], rollout_id: id, version, warnings: rollout.warnings })
    else for (const warning of rollout.warnings) out.note(warning)
    throw new Failure(`The rollout of version ${version} to the whole fleet (${id}) has not started.`, {
      advice: 'Nothing was rolled back or paused. Run this command again when the rollout is approved.',
    })
  }
  const reason = `svc rollback to ${version}`
  const open = plans.filter((plan) => canBeWithdrawn(plan) && isOpen(plan) && plan.id !== id)
  for (const plan of open) await withdraw(connection, plan, model.id, reason)
  const experiments = await experimentsOn(connection, model.id)
  for (const { id: experiment_id } of experiments) {
    const params = { path: { experiment_id } }
    await connection.request((client) =>
      client.POST('/api/v1/experiments/{experiment_id}/pause', { params, body: { reason } }),
    )
  }
  const { warnings } = await rolloutOf(connection, model.id, id)
  const rolledBack = open.map(({ kind, id: of, version: delivered }) => ({ kind, id: of, version: delivered }))
  const paused = experiments.map(({ id: of, name: experiment }) => ({ id: of, name: experiment }))
  if (json) return out.json({ rolled_back: rolledBack, paused_experiments: paused, rollout_id: id, version, warnings })
  for (const { kind, id: of, version: delivered } of rolledBack)
    out.line(`Rolled back the ${kind} of version ${delivered} (${of}).`)
  for (const { id: of, name: experiment } of paused) out.line(`Paused the experiment '${experiment}' (${of}).`)
  const action = warnings.length === 0 ? 'The whole fleet gets' : 'Created a rollout to the whole fleet:'
  out.line(`${action} version ${version} (rollout ${id}).`)
  for (const warning of warnings) out.note(warning)
  for (const { id: of, name: experiment } of paused)
    out.note(
      `To continue the experiment '${experiment}': svc rollouts rollback ${id}, then svc experiments resume ${of}`,
    )
  out.note(`Watch it with: svc status ${shellWord(name)} --watch`)
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'a model, by name or id')
    .option(
      '--to-version <version>',
      "version for the whole fleet (pauses the model's experiments); previous: what each device had before the newest plan",
      'previous',
    )
    .option('-y, --yes', 'roll back without confirmation')
    .addOption(jsonOption())
    .addOption(apiBaseOption())
    .action(async (name: string, { toVersion, yes, json, apiBase }: RollbackOptions) => {
      const { out, io } = session
      // Asks only at a terminal: a script that rolls back must not be delayed.
      const confirmed = async (what: string): Promise<void> => {
        if (!yes && io.stdin?.isTTY === true) await confirm(io, what)
      }
      const connection = await session.signedIn({ apiBase })
      const { knownModel, modelNamed, nullIfNotFound, requireVersion } = await import('../model-sources/catalog.ts')
      const { canBeWithdrawn, experimentsOn, plansOf, withdraw, withdrawnSince } = await import('./plans.ts')
      const model = await nullIfNotFound(modelNamed(connection, name))
      const plans = await plansOf(connection, model, name)

      if (toVersion === 'previous') {
        const inForce = plans.filter(canBeWithdrawn)
        const [newest] = inForce
        if (newest === undefined) {
          if (model === null) await knownModel(connection, name)
          throw new Failure(`'${name}' has no rollout or deployment to roll back.`)
        }
        const withdrawn = withdrawnSince(newest, plans)
        if (withdrawn !== null) throw alreadyRolledBack(name, model, withdrawn, inForce)
        const { kind, id, version } = newest
        await confirmed(`Rolling back the ${kind} of version ${version} of '${name}'`)
        await withdraw(connection, newest, model?.id ?? null, 'svc rollback')
        const running = model === null ? [] : await experimentsOn(connection, model.id)
        const experiments = running.map((experiment) => ({ id: experiment.id, name: experiment.name }))
        if (json) return out.json({ rolled_back: [{ kind, id, version }], running_experiments: experiments })
        out.line(`Rolled back the ${kind} of version ${version} (${id}).`)
        for (const experiment of experiments)
          out.note(
            `Experiment '${experiment.name}' continues on its devices. Pause it with: svc experiments pause ${experiment.id}`,
          )
        return out.note('Each device returns to its previous version, or to none if it had none.')
      }

      const known = model ?? (await knownModel(connection, name))
      const { version_label: version } = requireVersion(known, name, toVersion)
      await confirmed(`Rolling back '${name}' to version ${version} on the whole fleet`)
      await rollBackTo(connection, { name, model: known, version, plans }, session, json === true)
    })
}
