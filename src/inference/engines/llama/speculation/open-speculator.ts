import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../../../domain/error-message.ts'
import { makeTemporaryFolder } from '../../../../platform/files/temporary-folder.ts'
import { InferenceError } from '../../../errors.ts'
import { writeFirstLayers } from '../../../models/gguf/first-layers.ts'
import { readGgufHeader } from '../../../models/gguf/header.ts'
import type { BatchCosts } from '../batch-costs.ts'
import type { DraftOptions } from '../settings.ts'
import { type DraftModelSettings, openDraftModel } from './draft-model.ts'
import { createPromptLookup } from './prompt-lookup.ts'
import { createSpeculator, type Proposer, type Speculator } from './speculator.ts'

/** A quarter of the blocks: fewer are rarely right without training for it, and more cost too much. */
const SHARE = 4

/**
 * Early exit: the model's own first blocks, with its norm and output, propose tokens, and the whole model confirms them. The
 * shallow model is a temporary GGUF file.
 */
const openFirstLayers = async (settings: Omit<DraftModelSettings, 'kind'>): Promise<Proposer> => {
  const { blocks } = await readGgufHeader(settings.path)
  const folder = await makeTemporaryFolder('svc-first-layers')
  const clean = () => rm(folder, { recursive: true, force: true })
  try {
    const path = join(folder, 'first-layers.gguf')
    await writeFirstLayers(settings.path, path, Math.max(1, Math.floor(blocks / SHARE)))
    const proposer = await openDraftModel({ ...settings, kind: 'first-layers', path })
    // A mapped file can be unlinked now, so that a killed process leaves nothing behind. Windows does not allow it.
    await clean().catch(() => {})
    return { ...proposer, close: () => proposer.close().finally(clean) }
  } catch (error) {
    await clean()
    throw error
  }
}

const GUESSES = 8

/** `path` is that of the full model. */
export interface SpeculationSettings extends Omit<DraftModelSettings, 'kind'> {
  readonly draft: DraftOptions
  /** The costs of the full model's batches on this machine. */
  readonly costs: BatchCosts
  readonly warn: (message: string) => void
}

/**
 * Opens the proposer, which is used when these costs promise a gain. Returns null with a warning if memory or disk space is
 * insufficient.
 * @throws InferenceError for a draft that does not fit
 */
export const openSpeculator = async (settings: SpeculationSettings): Promise<Speculator | null> => {
  const { costs, draft, warn } = settings
  try {
    return createSpeculator(await openProposer(settings), costs, draft.tokens ?? GUESSES, warn)
  } catch (error) {
    if (error instanceof InferenceError && error.code !== 'out_of_memory') throw error
    warn(`speculative decoding could not be started and stays off: ${errorMessage(error)}`)
    return null
  }
}

const openProposer = async (settings: SpeculationSettings): Promise<Proposer> => {
  const { kind, path } = settings.draft
  if (kind === 'prompt-lookup') return createPromptLookup()
  if (kind === 'first-layers') return openFirstLayers(settings)
  if (path === undefined)
    throw new InferenceError('invalid_request', 'A draft model was asked for, but no file is named.')
  return openDraftModel({ ...settings, kind, path })
}
