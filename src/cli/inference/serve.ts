import { type AddressInfo, createServer } from 'node:net'
import type { Compress } from '../../inference/api/model-source.ts'
import { startInferenceServer } from '../../inference/api/start-server.ts'
import { type Announced, announce } from '../../inference/discovery/announce.ts'
import { compress } from '../../inference/runtime/compression/compress.ts'
import { ExitCode } from '../exit-code.ts'
import { Failure, wrongUsage } from '../failure.ts'
import { harmless } from '../output.ts'
import { packageVersion } from '../package-version.ts'
import type { Session } from '../session.ts'
import { publicAddressIn } from './public-address.ts'
import { bannerOf } from './serve-banner.ts'
import { benchmarkServed, shareTo } from './serve-benchmark.ts'
import { openModels, type ServedModels } from './serve-models.ts'
import type { ServeOptions } from './serve-options.ts'

const assertConsistent = ({ share, benchmark }: ServeOptions): void => {
  if (share && !benchmark) {
    throw wrongUsage('--share sends what --benchmark finds, and that is not measured.', 'Add --benchmark.')
  }
}

const listenFailure = (error: unknown, { host, port }: ServeOptions): unknown => {
  const { code } = error as NodeJS.ErrnoException
  const other = 'Give --port another one; 0 takes any that is free.'
  if (code === 'EADDRINUSE') {
    return new Failure(`Port ${port} is in use already.`, {
      advice: `Stop the program that has it. Or: ${other}`,
      cause: error,
    })
  }
  if (code === 'EACCES')
    return new Failure(`Port ${port} is not allowed to this user.`, { advice: other, cause: error })
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    const advice = 'Give --host 127.0.0.1 for this machine alone, or 0.0.0.0 for every network that it is in.'
    return new Failure(`${host} is not an address of this machine.`, { advice, cause: error })
  }
  return error
}

/** Finds out before a model is loaded, which may take a while, whether there is a port to serve it on. */
const assertFree = (host: string, port: number): Promise<void> =>
  new Promise((done, fail) => {
    const probe = createServer()
    probe.once('error', fail)
    probe.listen({ host, port }, () => probe.close(() => done()))
  })

const compressOver = (tokens: number | undefined): Compress | null =>
  tokens === undefined
    ? null
    : async (messages, countTokens) => {
        const done = await compress(messages, countTokens, { thresholdTokens: tokens })
        return done === null ? null : { messages: done.messages, removedTokens: done.report.removedTokens }
      }

/** Lets `svc scan` find the server. */
const announceIn = ({ out }: Session, { first }: ServedModels, { address, port }: AddressInfo): Announced => {
  const { name: engine, model } = first.engine
  return announce({ host: address, port, model: model.name, engine, version: packageVersion() }, out.note)
}

const unlessStopped =
  (signal: AbortSignal | undefined) =>
  (error: unknown): void => {
    if (!signal?.aborted) throw error
  }

const stopped = (signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (signal === undefined) return
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Serves until it is told to stop, and then finishes what it is doing. */
export const serve = async (session: Session, model: string, options: ServeOptions): Promise<never> => {
  const { io, out } = session
  assertConsistent(options)
  const { host, port } = options
  const asFailure = (error: unknown): never => {
    throw listenFailure(error, options)
  }
  const known = publicAddressIn(io.env)
  await assertFree(host, port).catch(asFailure)
  const shared = await shareTo(session, options.share)

  const log = {
    level: options.logLevel,
    destination: { write: (line: string) => void io.stderr.write(harmless(line)) },
  }
  const models = await openModels(session, model, options, (line) => {
    if (options.logLevel === 'debug') out.note(line)
  })
  try {
    const server = await startInferenceServer({
      host,
      port,
      ...known,
      source: models.source,
      route: models.route,
      compress: compressOver(options.compressOver),
      maxQueue: options.maxQueue,
      jsonMode: options.jsonMode === true,
      version: packageVersion(),
      log,
    }).catch(asFailure)
    const announced = options.announce ? announceIn(session, models, server.address) : null
    try {
      for (const line of bannerOf(models, options, server.address)) out.line(line)
      if (options.benchmark) await benchmarkServed(session, models, shared).catch(unlessStopped(io.signal))
      await stopped(io.signal)
      out.note('Stopping: finishing what is running.')
    } finally {
      await announced?.stop()
      await server.close()
    }
  } finally {
    await models.close()
  }
  // A server that was told to stop, and did, has done what it was asked to.
  throw new ExitCode(0)
}
