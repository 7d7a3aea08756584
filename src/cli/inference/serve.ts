import { resolve } from 'node:path'
import { parseOrigins, parsePublicUrl } from '../../domain/own-hosts.ts'
import { createInferenceServer, type InferenceSettings } from '../../inference/compose.ts'
import type { DraftOptions } from '../../inference/engines/llama/settings.ts'
import { InferenceError } from '../../inference/errors.ts'
import { ExitCode } from '../exit-code.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { type Io, untilAborted } from '../io.ts'
import { localName } from '../model-sources/local-model.ts'
import { withoutControlCharacters } from '../output.ts'
import { packageVersion } from '../package-version.ts'
import type { Session } from '../session.ts'
import { loraPaths } from './inference-options.ts'
import { bannerOf } from './serve-banner.ts'
import { benchmarkServed, shareTo } from './serve-benchmark.ts'
import type { ServeOptions } from './serve-options.ts'

/** SERVICE_PUBLIC_URL and SERVICE_CORS_ORIGINS, with the same meaning as for the service. */
const publicAddressIn = (
  env: Io['env'],
): { readonly publicUrl: string | null; readonly corsOrigins: readonly string[] } => {
  const given = env.SERVICE_PUBLIC_URL?.trim() || null
  const publicUrl = given === null ? null : parsePublicUrl(given)
  if (given !== null && publicUrl === null) {
    throw wrongUsage(
      'SERVICE_PUBLIC_URL is not the address of a server.',
      'It must look like https://models.example.org.',
    )
  }
  const { origins, wrong } = parseOrigins(env.SERVICE_CORS_ORIGINS ?? '')
  if (wrong !== null) {
    throw wrongUsage(`SERVICE_CORS_ORIGINS: '${wrong}' is not an origin.`, 'It must look like https://app.example.org.')
  }
  return { publicUrl, corsOrigins: origins }
}

const KEY = /^[\x21-\x7e]{1,512}$/

/** The key that clients must send; null if none is required. */
const keyOf = ({ apiKey }: ServeOptions, env: Io['env']): string | null => {
  const key = apiKey ?? (env.SERVICE_SERVER_KEY || null)
  if (key === null || KEY.test(key)) return key
  const where = apiKey === undefined ? 'SERVICE_SERVER_KEY' : '--api-key'
  throw wrongUsage(
    `${where} is not a key.`,
    'It must have 1 to 512 letters, digits, and punctuation marks, without spaces.',
  )
}

const assertConsistent = (model: string, { share, benchmark, models = [], autoRoute }: ServeOptions): void => {
  if (share && !benchmark) {
    throw wrongUsage('--share needs --benchmark.', 'Add --benchmark.')
  }
  if (autoRoute && models.every((name) => name === model)) {
    throw wrongUsage(
      '--auto-route needs more than one model.',
      'List the others with --models, for example: svc serve small --models medium,large --auto-route',
    )
  }
}

const startFailure = (error: unknown, { host, port }: ServeOptions): unknown => {
  if (error instanceof InferenceError && error.param === 'models') return wrongUsage(error.message)
  const { code } = error as NodeJS.ErrnoException
  const other = 'Choose another --port; 0 picks a free one.'
  if (code === 'EADDRINUSE') {
    return new Failure(`Port ${port} is already in use.`, {
      advice: `Stop the program that uses it. Or: ${other}`,
      cause: error,
    })
  }
  if (code === 'EACCES')
    return new Failure(`This user is not allowed to listen on port ${port}.`, { advice: other, cause: error })
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const advice = 'Use --host 127.0.0.1 for this machine only, or 0.0.0.0 for all networks.'
    return new Failure(`${host} is not an address of this machine.`, { advice, cause: error })
  }
  return error
}

const draftOf = (draft: string | undefined, { io }: Session): DraftOptions | null => {
  if (draft === undefined) return null
  if (draft === 'prompt-lookup' || draft === 'first-layers') return { kind: draft }
  if (draft.endsWith('.gguf')) return { kind: 'draft-model', path: resolve(io.cwd, draft) }
  throw wrongUsage(`--draft takes prompt-lookup, first-layers, or the path of a .gguf file, got '${draft}'.`)
}

const settingsOf = (
  session: Session,
  models: readonly [string, ...string[]],
  options: ServeOptions,
): InferenceSettings => {
  const { io, out, home } = session
  const { host, port, engine, announce, maxQueue, threads, context, slots, unloadAfter, logLevel } = options
  return {
    home: home.folder,
    cwd: io.cwd,
    env: io.env,
    models,
    engine,
    host,
    port,
    ...publicAddressIn(io.env),
    apiKey: keyOf(options, io.env),
    maxQueue,
    jsonMode: options.jsonMode === true,
    autoRoute: options.autoRoute === true,
    compressOver: options.compressOver ?? null,
    cacheMegabytes: options.cache ? options.cacheSize : 0,
    draft: draftOf(options.draft, session),
    lora: loraPaths(options.lora, session),
    ...(threads !== undefined && { threads }),
    ...(context !== undefined && { contextTokens: context }),
    ...(slots !== undefined && { slots }),
    ...(unloadAfter !== undefined && { unloadAfterMs: unloadAfter * 60_000 }),
    announce,
    version: packageVersion(),
    log: { level: logLevel, destination: { write: (line) => void io.stderr.write(withoutControlCharacters(line)) } },
    onModelEvent: (line) => {
      if (logLevel === 'debug') out.note(line)
    },
    onWarning: out.note,
    signal: io.signal,
  }
}

/** Serves until stopped, and then finishes the requests in progress. */
export const serve = async (session: Session, model: string, options: ServeOptions): Promise<never> => {
  const { io, out } = session
  assertConsistent(model, options)
  const others: string[] = []
  const first = await localName(model, session, options.engine)
  for (const name of options.models ?? []) others.push(await localName(name, session, options.engine))
  const settings = settingsOf(session, [first, ...others], options)
  const shared = await shareTo(session, options.share)
  const server = await createInferenceServer(settings).catch((error: unknown) => {
    throw startFailure(error, options)
  })
  try {
    for (const line of bannerOf(server.models, options, server.address, settings.apiKey !== null)) out.line(line)
    if (options.benchmark)
      await benchmarkServed(session, server.models, shared).catch((error: unknown) => {
        if (!io.signal.aborted) throw error
      })
    await untilAborted(io.signal)
    out.note('Stopping after the running requests.')
  } finally {
    await server.close()
  }
  // A server that stopped when told to has succeeded.
  throw new ExitCode(0)
}
