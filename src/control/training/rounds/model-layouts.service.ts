import type { Inspection } from '../../../aggregation/aggregation-messages.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { notAggregable } from '../../../domain/model.ts'
import { STRATEGY_RULES } from '../../../domain/strategy-rules.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import { titleOf } from '../../../tensors/detect.ts'
import type { Layout } from '../../../tensors/layout.ts'
import { namesRawVector } from '../../../tensors/raw.ts'
import type { StoredVersion } from '../../catalog/models/models.service.ts'
import type { Context } from '../../context.ts'
import { singleFlight } from '../../single-flight.ts'
import type { StoredRound } from './rounds.store.ts'
import { refusedAs } from './update-counts.service.ts'

const TREES = { expected: null, rawVectors: 'none', trees: true } as const

/** How a round or job can use a model's file. */
interface ModelContent {
  /** The file is a raw float32 vector. */
  readonly rawVector: boolean
  /** Why its tensors cannot be read; null if they can. */
  readonly unreadable: string | null
  readonly warning: string | null
  /** A tensor with the variances of a batch normalization. */
  readonly variances: string | null
}

/** In files of PyTorch, of Keras, and of Keras 3. */
const VARIANCES = /(^|[./])(running_var|moving_variance)(:0)?$|(^|\/)batch_normalization(_\d+)?\/vars\/3$/

/** Determines from its file whether a model can be aggregated. */
export const createModelLayouts = ({ blobs, workers }: Context) => {
  // All devices of a round arrive at once, and its aggregation reads the layout again.
  const known = singleFlight<{ readonly layout: Layout | null }>(16)
  // A model of 10,000 trees takes seconds to read.
  const trees = singleFlight<Inspection>(16)

  const inspect = async (sha256: string, rawVector: boolean): Promise<Layout | null> => {
    try {
      const rawVectors = rawVector ? 'declared' : 'none'
      return await blobs.withPaths(
        async (pathOf) =>
          (await workers.inspect(await pathOf(sha256), { expected: null, rawVectors, isModel: true })).layout,
      )
    } catch (error) {
      if (isRefusal(error)) return null
      throw error
    }
  }

  const layouts = {
    /** The tensors of a stored file; null if they cannot be read. */
    async layoutOf(sha256: string, rawVector: boolean): Promise<Layout | null> {
      const found = await known(`${sha256} ${rawVector}`, async () => ({ layout: await inspect(sha256, rawVector) }))
      return found?.layout ?? null
    },

    /** Inspects an update of trees, which must be combinable with those of the round's model, if there is one. */
    async inspectTrees(path: string, modelSha256: string | null): Promise<Inspection> {
      const model =
        modelSha256 === null
          ? null
          : await trees(modelSha256, () =>
              blobs.withPaths(async (pathOf) => workers.inspect(await pathOf(modelSha256), TREES)),
            )
      return workers.inspect(path, { ...TREES, ...(model?.treeLayout && { expectedTrees: model.treeLayout }) })
    },

    /**
     * Inspects the model that a round or job is to start from. It is a raw vector if `declared` by the starter or by its file
     * name, or if `guessed` is set and the content is plausible. @throws bad_request if the starter's declaration is wrong
     */
    async judge(
      version: StoredVersion,
      {
        declared,
        guessed,
        trees = false,
      }: { readonly declared: boolean; readonly guessed: boolean; readonly trees?: boolean },
    ): Promise<ModelContent> {
      const isVector = declared || namesRawVector(version.fileName)
      const rawVectors = isVector ? 'declared' : guessed ? 'plausible' : 'none'
      try {
        const { format, rawVector, layout, warning, advice } = await blobs.withPaths(async (pathOf) =>
          workers.inspect(await pathOf(version.sha256), { expected: null, rawVectors, isModel: true, trees }),
        )
        if (declared && !rawVector) {
          throw badRequest(`raw_vector: the model's file is ${titleOf(format)}. Leave raw_vector out.`)
        }
        const unreadable =
          layout === null && !trees ? notAggregable({ title: titleOf(format), advice: advice ?? '' }) : null
        const variances = layout?.find(({ name }) => VARIANCES.test(name))?.name ?? null
        return { rawVector, unreadable, warning: rawVector ? warning : null, variances }
      } catch (error) {
        if (declared || !isRefusal(error)) throw error
        return { rawVector: false, unreadable: error.message, warning: null, variances: null }
      }
    },

    /**
     * Whether a round's model and updates are raw vectors, and a warning for the starter if the model may be unreadable.
     * @throws bad_request if the model cannot be read although `isNeeded`, or is not what the starter declared
     */
    async contentOf(
      version: StoredVersion | null,
      {
        declared,
        isNeeded,
        trees = false,
      }: { readonly declared: boolean; readonly isNeeded: boolean; readonly trees?: boolean },
    ): Promise<Pick<ModelContent, 'rawVector' | 'warning'>> {
      if (trees && declared)
        throw badRequest('raw_vector: the strategy combines models of trees. Leave raw_vector out.')
      if (version === null) return { rawVector: declared, warning: null }
      if (trees) {
        const { unreadable } = await layouts.judge(version, { declared, guessed: false, trees })
        if (unreadable !== null) throw badRequest(`global_model_id: ${unreadable}`)
        return { rawVector: false, warning: null }
      }
      if (!declared && !isNeeded && !namesRawVector(version.fileName)) {
        return { rawVector: false, warning: await warningOf(version) }
      }
      const { rawVector, unreadable } = await layouts.judge(version, { declared, guessed: isNeeded })
      if (isNeeded && unreadable !== null) throw badRequest(`global_model_id: ${unreadable}`)
      return { rawVector, warning: unreadable === null ? null : notAveraged(unreadable) }
    },
  }

  /** Why a plain round cannot average its model's updates; null if it can. Updates need the layout later anyway. */
  const warningOf = async (version: StoredVersion): Promise<string | null> => {
    if ((await layouts.layoutOf(version.sha256, false)) !== null) return null
    const { unreadable } = await layouts.judge(version, { declared: false, guessed: true })
    return unreadable === null ? null : notAveraged(unreadable)
  }

  return layouts
}

export type ModelLayouts = ReturnType<typeof createModelLayouts>

/** Checks that an update has the tensors that its round requires. */
export const createTensorChecks = (
  { workers }: Context,
  {
    layouts,
  }: {
    readonly layouts: Pick<ModelLayouts, 'layoutOf' | 'inspectTrees'>
  },
) => {
  /** The tensors that an update must have: those of the distributed model if readable; null allows any. */
  const expectedLayout = async ({ globalSha256: sha256, plan }: StoredRound): Promise<Layout | null> =>
    sha256 === null ? null : layouts.layoutOf(sha256, plan.rawVector === true)

  const inspectControl = async ({ plan }: StoredRound, control: StagedBlob, expected: Layout | null): Promise<void> => {
    const rawVectors = plan.rawVector ? 'declared' : 'none'
    await workers.inspect(control.path, { expected, rawVectors }).catch((error: unknown) => {
      throw isRefusal(error) ? refusedAs('tensors', badRequest(`control: ${error.message}`)) : error
    })
  }

  /**
   * Returns what the update contains. @throws bad_request if the files have other tensors than the round's model, naming the
   * first difference
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
    const inspected = trees
      ? layouts.inspectTrees(staged.path, round.globalSha256)
      : workers.inspect(staged.path, { expected, rawVectors })
    const found = await inspected.catch((error: unknown) => {
      throw isRefusal(error) ? refusedAs('tensors', error) : error
    })
    if (control !== null) await inspectControl(round, control, expected)
    return found
  }
}

const notAveraged = (unreadable: string): string =>
  `global_model_id: updates of this model cannot be averaged, and may be refused. ${unreadable}`

const isRefusal = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && error.code === 'bad_request'
