import { InferenceError } from '../../errors.ts'
import type { Engine, EngineName } from '../engine.ts'
import { listServed } from './openai-client.ts'
import { createProxiedEngine, failureOf } from './proxied-engine.ts'
import { ChatServerError } from './server-errors.ts'
import type { Server } from './server-requests.ts'
import { openAiFormat, serverNamed } from './servers.ts'

const LOOK_WITHIN_MS = 10_000
const SHOWN_NAMES = 20

export interface RemoteOptions extends Server {
  /** `openai`, or the name of the program that runs there. */
  readonly name: EngineName
  readonly key: string | null
  /** The model's name on the server. */
  readonly model: string
  readonly slots?: number
  readonly contextTokens?: number
}

/**
 * Opens a model on a server that is already running, anywhere.
 * @throws InferenceError upstream_failed or upstream_timeout if it does not answer, model_not_found if it lacks the model
 */
export const openRemoteEngine = async (options: RemoteOptions): Promise<Engine> => {
  const { name, baseUrl, key, model } = options
  const program = serverNamed(name)
  const look = { baseUrl, key, stallMs: Math.min(LOOK_WITHIN_MS, options.stallMs ?? LOOK_WITHIN_MS) }
  const served = await listServed(look, new AbortController().signal).catch((error: unknown) => {
    // Some servers cannot list their models.
    if (error instanceof ChatServerError && (error.status === 404 || error.status === 405)) return []
    const { code, message } = failureOf(baseUrl, error)
    const start = program === null ? '' : ` Start it: ${[program.program, ...program.arguments(model)].join(' ')}`
    throw new InferenceError(code, message + start, { cause: error })
  })
  const found = served.find((one) => one.name === model)
  if (served.length > 0 && found === undefined) {
    const names = served.slice(0, SHOWN_NAMES).map((one) => one.name)
    const more = served.length > SHOWN_NAMES ? `, and ${served.length - SHOWN_NAMES} more` : ''
    const message = `${baseUrl} has no model '${model}'. It has: ${names.join(', ')}${more}.`
    throw new InferenceError('model_not_found', message, { param: 'model' })
  }
  const contextTokens = options.contextTokens ?? found?.contextTokens ?? 0
  return createProxiedEngine<Server>({
    name,
    label: baseUrl,
    model: { name: model, path: baseUrl, parameters: null, contextTokens, memoryBytes: 0 },
    modelId: model,
    slots: options.slots ?? program?.slots ?? 32,
    responseFormat: program === null ? openAiFormat : program.responseFormat,
    server: async () => options,
    restarts: () => 0,
    close: async () => undefined,
  })
}
