import type { Inspection } from '../../../aggregation/job.ts'
import type { AggregationWorkers } from '../../../aggregation/worker-pool.ts'
import type { Caller } from '../../../domain/access.ts'
import { badRequest, conflict, ServiceError } from '../../../domain/errors.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { Database } from '../../../platform/db/open.ts'
import type { Layout } from '../../../tensors/layout.ts'
import { namesRawVector } from '../../../tensors/raw.ts'
import type { FilesService } from '../../catalog/files/files.service.ts'
import type { SecureSteps } from '../secure-rounds/secure-steps.service.ts'
import type { ModelContents } from './model-content.service.ts'
import type { Participation } from './participation.service.ts'
import type { RoundsService, StoredRound } from './rounds.service.ts'
import { singleFlight } from './single-flight.ts'
import type { UpdateAcceptance, UpdateReport } from './update-acceptance.service.ts'
import { refusedAs } from './update-counts.service.ts'
import type { StoredUpdate } from './updates.store.ts'

export type { StoredUpdate } from './updates.store.ts'

/** How long an update waits for the next round of an asynchronous job. */
const BETWEEN_ROUNDS_MS = 20_000
const LOOK_AGAIN_MS = 250
/** What a masked update is cannot be told. */
const MASKED = { rawVector: false, warning: null } as const
const NEVER = new AbortController().signal

interface Parts {
  readonly database: Database
  readonly participation: Pick<Participation, 'requireOpen'>
  readonly acceptance: UpdateAcceptance
  readonly workers: Pick<AggregationWorkers, 'inspect'>
  readonly contents: Pick<ModelContents, 'layoutOf'>
  readonly rounds: RoundsService
  readonly secure: Pick<SecureSteps, 'admitMasked'>
  readonly files: FilesService
}

/** What tensors an update must have, and whether it has them. */
const createTensorChecks = ({ workers, contents }: Parts) => {
  // All of a round's devices come at once.
  const layouts = singleFlight<{ readonly layout: Layout | null }>(16)

  /** The tensors an update must have: those of the distributed model, where we can read it; null takes any bytes. */
  const expectedLayout = async ({ globalSha256: sha256, plan }: StoredRound): Promise<Layout | null> => {
    if (sha256 === null) return null
    const rawVector = plan.rawVector === true
    const found = await layouts(`${sha256} ${rawVector}`, async () => ({
      layout: await contents.layoutOf(sha256, rawVector),
    }))
    return found?.layout ?? null
  }

  const inspectControl = async ({ plan }: StoredRound, control: StagedBlob, expected: Layout | null): Promise<void> => {
    const rawVectors = plan.rawVector ? 'declared' : 'none'
    await workers.inspect(control.path, { expected, rawVectors }).catch((error: unknown) => {
      throw isRefusal(error) ? refusedAs('tensors', badRequest(`control: ${error.message}`)) : error
    })
  }

  /**
   * What the update turned out to be. Throws bad_request where the files have other tensors than the round's model, naming
   * the first difference.
   */
  return async (
    round: StoredRound,
    staged: StagedBlob & { readonly fileName: string },
    control: StagedBlob | null,
  ): Promise<Pick<Inspection, 'rawVector' | 'warning'>> => {
    const { trees = false } = STRATEGY_RULES[round.plan.strategy]
    const expected = trees ? null : await expectedLayout(round)
    const isDeclared = round.plan.rawVector === true || (expected === null && namesRawVector(staged.fileName))
    const rawVectors = isDeclared ? 'declared' : 'plausible'
    const found = await workers.inspect(staged.path, { expected, rawVectors, trees }).catch((error: unknown) => {
      throw isRefusal(error) ? refusedAs('tensors', error) : error
    })
    if (control !== null) await inspectControl(round, control, expected)
    return found
  }
}

/** What devices bring back to a round: their updates. */
export const createUpdatesService = (parts: Parts) => {
  const { database, participation, acceptance, rounds, secure, files } = parts
  const { requireOpen } = participation
  const checkTensors = createTensorChecks(parts)

  return {
    /** Refuses early, before a file is read: the round must exist, be active, and await this device. */
    async admit(caller: Caller, roundId: string): Promise<StoredRound> {
      const round = await rounds.get(caller, roundId)
      const { deviceId } = await requireOpen(round, caller.deviceId)
      if (round.plan.secure !== undefined) await secure.admitMasked(database.sql, round.id, deviceId, null)
      return round
    },

    /** Checks a staged file against the round's layout, keeps it and counts it; the last one closes the doors. */
    async submit(
      caller: Caller,
      admitted: StoredRound,
      sent: { readonly file: StagedBlob & { readonly fileName: string }; readonly control: StagedBlob | null },
      report: UpdateReport,
    ): Promise<{ update: StoredUpdate; warnings: readonly string[] }> {
      const { file: staged, control } = sent
      if (staged.size === 0) throw badRequest('file is empty: an update needs weights.')
      requireControl(admitted, control)
      const isMasked = admitted.plan.secure !== undefined
      if (isMasked) await secure.admitMasked(database.sql, admitted.id, caller.deviceId!, staged.size)
      const { rawVector, warning } = isMasked ? MASKED : await checkTensors(admitted, staged, control)
      const hidden = isHidden(admitted, report)
      await files.keep(staged)
      if (control !== null) await files.keep(control)
      const accept = () =>
        acceptance.accept({
          admitted,
          deviceId: caller.deviceId!,
          sha256: staged.sha256,
          size: staged.size,
          rawVector,
          controlSha256: control?.sha256 ?? null,
          ...report,
          ...(hidden === null ? {} : { metrics: null, evaluation: null }),
        })
      let update = await accept()
      // Between two rounds of an asynchronous job an update waits for the next, which is about to begin.
      const until = Date.now() + BETWEEN_ROUNDS_MS
      while (update === null && admitted.plan.asynchronous && Date.now() < until && !rounds.changes.isClosed()) {
        const seen = rounds.changes.version()
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        await rounds.changes.changedSince(seen, LOOK_AGAIN_MS, NEVER)
        update = await accept()
      }
      if (update === null) {
        await rounds.tick()
        await requireOpen(await rounds.get(caller, admitted.id), caller.deviceId)
        throw conflict(
          'The round changed while the update arrived. Check its status before trying again.',
          'round_over',
        )
      }
      return { update, warnings: [warning, hidden].filter((one) => one !== null) }
    },
  }
}

const isRefusal = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'bad_request'

/** With control variates, updates bring the change of the device's own; others have no such file. */
const requireControl = (round: StoredRound, control: StagedBlob | null): void => {
  const isRequired = STRATEGY_RULES[round.plan.strategy].controlVariates === true
  if (isRequired && (control === null || control.size === 0)) {
    throw badRequest(
      `control is required: a round with strategy ${round.plan.strategy} needs the change of the device's control variate as a file.`,
    )
  }
  if (!isRequired && control !== null) {
    throw badRequest(
      `control must be left out: this round's strategy, ${round.plan.strategy}, keeps no control variates.`,
    )
  }
}

/** Why metrics of single devices are not kept of this round; null where they are, or there are none. */
const isHidden = ({ privacy, plan }: StoredRound, { metrics, evaluation }: UpdateReport): string | null => {
  if (metrics === null && evaluation === null) return null
  const which = [...(metrics === null ? [] : ['metrics']), ...(evaluation === null ? [] : ['evaluation'])].join(' and ')
  if (privacy !== null) return `${which} not kept: the round is private, and its noise does not cover them`
  if (plan.secure !== undefined) return `${which} not kept: a secure round reveals only the sum of loss and accuracy`
  return null
}

export type UpdatesService = ReturnType<typeof createUpdatesService>
