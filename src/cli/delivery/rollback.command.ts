import type { Command } from 'commander'
import { confirm } from '../confirm.ts'
import { Failure } from '../failure.ts'
import { apiBaseOption, type DataOptions, jsonOption } from '../options.ts'
import type { Session } from '../session.ts'

interface RollbackOptions extends DataOptions {
  readonly toVersion: string
  readonly yes?: true
}

export const define = (command: Command, session: Session): void => {
  command
    .argument('<name>', 'a model, by name or id')
    .option(
      '--to-version <version>',
      'version for the whole fleet, which pauses experiments on the model; previous: the previous version of each device',
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
      const { modelNamed, nullIfNotFound, requireVersion } = await import('../model-sources/catalog.ts')
      const { canBeWithdrawn, experimentsOn, isOpen, plansOf, progressOf, withdraw } = await import('./plans.ts')
      const requested = modelNamed(connection, name)
      const model = await nullIfNotFound(requested)
      const plans = (await plansOf(connection, model, name)).filter(canBeWithdrawn)

      if (toVersion === 'previous') {
        const [newest] = plans
        if (newest === undefined) {
          if (model === null) await requested
          throw new Failure(`'${name}' has no rollout or deployment to roll back.`)
        }
        await confirmed(`Rolling back the ${newest.kind} of version ${newest.version} of '${name}'`)
        await withdraw(connection, newest, model?.id ?? null, 'svc rollback')
        if (json) return out.json({ rolled_back: [{ kind: newest.kind, id: newest.id, version: newest.version }] })
        out.line(`Rolled back the ${newest.kind} of version ${newest.version} (${newest.id}).`)
        for (const experiment of model === null ? [] : await experimentsOn(connection, model.id))
          out.note(`Experiment '${experiment.name}' continues on its devices: svc experiments pause ${experiment.id}`)
        return out.note('Each device returns to its previous version, or to none if it had none.')
      }

      if (model === null) {
        await requested
        return
      }
      const version = requireVersion(model, name, toVersion)
      await confirmed(`Rolling back '${name}' to version ${version.version_label} on the whole fleet`)
      // Starts the new rollout first, so that no device gets a third version in between.
      const { startRollout } = await import('./deploy.ts')
      const rollout = await startRollout(connection, model.id, {
        name,
        version: version.version_label,
        rollout: 100,
        strategy: 'immediate',
        platform: undefined,
        devices: undefined,
        group: undefined,
        step: undefined,
        intervalMinutes: undefined,
      })
      const reason = `svc rollback to ${version.version_label}`
      const open = plans.filter(isOpen)
      for (const plan of open) await withdraw(connection, plan, model.id, reason)
      const experiments = await experimentsOn(connection, model.id)
      for (const { id } of experiments) {
        const params = { path: { experiment_id: id } }
        await connection.ask((client) =>
          client.POST('/api/v1/experiments/{experiment_id}/pause', { params, body: { reason } }),
        )
      }
      const { warnings } = await progressOf(connection, { kind: 'rollout', id: rollout.rollout_id }, model.id)
      const rolledBack = open.map(({ kind, id, version: of }) => ({ kind, id, version: of }))
      const paused = experiments.map(({ id, name: experiment }) => ({ id, name: experiment }))
      if (json) {
        const { rollout_id, version: delivered } = rollout
        return out.json({
          rolled_back: rolledBack,
          paused_experiments: paused,
          rollout_id,
          version: delivered,
          warnings,
        })
      }
      for (const { kind, id, version: of } of rolledBack) out.line(`Rolled back the ${kind} of version ${of} (${id}).`)
      for (const { id, name: experiment } of paused) out.line(`Paused the experiment '${experiment}' (${id}).`)
      const did = warnings.length === 0 ? 'The whole fleet gets' : 'Created a rollout for the whole fleet of'
      out.line(`${did} version ${rollout.version} (rollout ${rollout.rollout_id}).`)
      for (const warning of warnings) out.note(warning)
      out.note(`Watch it with: svc status ${name} --watch`)
    })
}
