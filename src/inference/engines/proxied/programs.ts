import { mlcLlm } from './mlc-llm.ts'
import { mlxLm } from './mlx-lm.ts'
import { mnn } from './mnn.ts'
import type { ProxiedProgram } from './program.ts'

/** The engines that are somebody else's servers, by name. */
export const PROGRAMS: Readonly<Record<'mlx-lm' | 'mlc-llm' | 'mnn', ProxiedProgram>> = {
  'mlx-lm': mlxLm,
  'mlc-llm': mlcLlm,
  mnn,
}
