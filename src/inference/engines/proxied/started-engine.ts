import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonOrNull } from '../../../domain/parse-json.ts'
import { InferenceError } from '../../errors.ts'
import type { ModelFile } from '../../models/model-file.ts'
import type { Engine } from '../engine.ts'
import { object } from './loose-json.ts'
import { createProxiedEngine } from './proxied-engine.ts'
import type { ServerProgram } from './servers.ts'
import { type RunningServer, type StartOptions, startServer, withWords } from './started-server.ts'

const USUAL_CONTEXT = 4096

const contextTokensOf = async (folder: string, { file, key }: ServerProgram['contextIn']): Promise<number> => {
  const config = object(jsonOrNull(await readFile(join(folder, file), 'utf8').catch(() => '')))
  // Multimodal models keep the text settings separately.
  const tokens = config[key] ?? object(config.text_config)[key]
  return typeof tokens === 'number' && tokens > 0 ? tokens : USUAL_CONTEXT
}

export interface StartedOptions extends Omit<StartOptions, 'path'> {
  readonly model: ModelFile
  readonly slots?: number
}

/**
 * Runs a model in a program that is started for it, restarted when it ends, and stopped with this process.
 * @throws InferenceError engine_missing if the program is not on PATH, engine_failed if it does not start
 */
export const openStartedEngine = async (program: ServerProgram, options: StartedOptions): Promise<Engine> => {
  const { model } = options
  const { name } = program
  const contextTokens = await contextTokensOf(model.path, program.contextIn)
  const started = await startServer(program, { ...options, path: model.path })
  return createProxiedEngine<RunningServer>({
    ...started,
    name,
    label: name,
    model: { name: model.name, path: model.path, parameters: null, contextTokens, memoryBytes: model.bytes },
    modelId: null,
    slots: options.slots ?? program.slots,
    responseFormat: program.responseFormat,
    async explain(server, error) {
      // A broken connection is the first sign that the program died; the reason comes a moment later.
      const waited = new Promise<null>((resolve) => setTimeout(resolve, 1000, null))
      const reason = await Promise.race([server.program.ended, waited])
      const what =
        reason === null
          ? `${name} broke off its reply.`
          : `${name} died in the middle of a reply (${reason}) and is being restarted.`
      return new InferenceError('engine_failed', withWords(what, server.program), { cause: error })
    },
  })
}
