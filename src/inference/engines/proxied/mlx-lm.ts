import type { ProxiedProgram } from './program.ts'

/** Apple's MLX. Its server forces no format, and takes a `model` in the body as one to load: we send none. */
export const mlxLm: ProxiedProgram = {
  name: 'mlx-lm',
  program: 'mlx_lm.server',
  install: 'pip install mlx-lm',
  arguments: ({ path }, host, port) => ['--model', path, '--host', host, '--port', String(port)],
  slots: 8,
  contextIn: { file: 'config.json', key: 'max_position_embeddings' },
  keepsMaxTokens: true,
  keepsStops: true,
}
