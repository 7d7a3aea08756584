import { join } from 'node:path'
import type { ProxiedProgram } from './program.ts'

/**
 * Alibaba's MNN. Its server takes messages and nothing else: sampling is what the model's config.json says, a reply ends
 * where the model ends it, one is computed at a time, and no tokens are counted.
 */
export const mnn: ProxiedProgram = {
  name: 'mnn',
  program: 'mnncli',
  install: 'see https://github.com/alibaba/MNN/tree/master/apps/mnncli',
  arguments: ({ path }, host, port) => [
    'serve',
    '--config',
    join(path, 'config.json'),
    '--host',
    host,
    '--port',
    String(port),
  ],
  slots: 1,
  contextIn: { file: 'llm_config.json', key: 'max_position_embeddings' },
  keepsMaxTokens: false,
  keepsStops: false,
}
