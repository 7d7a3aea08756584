import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeFirstLayers } from '../../../models/gguf/first-layers.ts'
import { readGgufHeader } from '../../../models/gguf/header.ts'
import { type DraftModelSettings, openDraftModel } from './draft-model.ts'
import type { Proposer } from './proposer.ts'

/** A quarter of the blocks: fewer are seldom right unless they were trained for it, more cost too much. */
const SHARE = 4

/**
 * Early exit: the model's own first blocks, with its norm and output behind them, propose tokens, and the whole model confirms
 * them. The shallow model is a GGUF file of its own, made here and gone when it is closed.
 */
export const openFirstLayers = async (settings: Omit<DraftModelSettings, 'kind'>): Promise<Proposer> => {
  const { blocks } = await readGgufHeader(settings.path)
  const folder = await mkdtemp(join(tmpdir(), 'svc-first-layers-'))
  const clean = () => rm(folder, { recursive: true, force: true })
  try {
    const path = join(folder, 'first-layers.gguf')
    await writeFirstLayers(settings.path, path, Math.max(1, Math.floor(blocks / SHARE)))
    const proposer = await openDraftModel({ ...settings, kind: 'first-layers', path })
    // Where the file is mapped, its name can go at once, so that a process that is killed leaves nothing. Windows keeps it.
    await clean().catch(() => {})
    return { ...proposer, close: () => proposer.close().finally(clean) }
  } catch (error) {
    await clean()
    throw error
  }
}
