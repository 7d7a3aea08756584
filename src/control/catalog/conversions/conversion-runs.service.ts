import { randomUUID } from 'node:crypto'
import { runConversion } from '../../../convert/run-conversion.ts'
import { anySignal } from '../../../domain/any-signal.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import { isUnavailable } from '../../../domain/outages.ts'
import type { PathOf, StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { Context } from '../../context.ts'
import type { FilesService } from '../files/files.service.ts'
import {
  type ConversionOutcome,
  conversionsStore,
  type StoredConversion,
  type VersionFile,
} from './conversions.store.ts'

const RENEW_MS = 4000
/** A conversion that was started this often without finishing probably crashes the process, so it fails. */
const MAX_ATTEMPTS = 3

/** Aborts a conversion that is no longer needed, or that another process has taken over. */
class Superseded extends Error {}
/** Aborts a conversion when the service stops: another process, or its next start, makes it. */
class Stopping extends Error {}

const isTheFilesFault = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && !['internal_error', 'insufficient_storage', 'unavailable'].includes(error.code)

const PIECE = 256 * 1024

/** Yields small pieces, so that other requests get their turn between hashing them. */
const inPieces = async function* (bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
}

/** Makes the requested conversions, one at a time in each process, and each in only one process. */
export const createConversionRuns = (
  { database, blobs, events, log, now }: Context,
  {
    files,
    maxBytes,
  }: {
    readonly files: Pick<FilesService, 'keep'>
    /** The maximum size of a file to convert. */
    readonly maxBytes: number
  },
) => {
  const owner = randomUUID()
  const stopping = new AbortController()

  const inputOf = async ({ fileName, sha256, size }: VersionFile, pathOf: PathOf) => {
    if (size > maxBytes) {
      throw badRequest(
        `${fileName} has ${size} bytes; only files of up to ${maxBytes} are converted (SERVICE_MAX_CONVERSION_BYTES).`,
      )
    }
    return { path: await pathOf(sha256), fileName }
  }

  /** Returns the converted file, staged, or null if the version is gone. */
  const make = async (conversion: StoredConversion, signal: AbortSignal): Promise<StagedBlob | null> => {
    const input = await conversionsStore.input(database.sql, conversion)
    if (input === null) return null
    if (conversion.attempts > MAX_ATTEMPTS) {
      throw badRequest(`The conversion was started ${MAX_ATTEMPTS} times and never finished.`)
    }
    const made = await blobs.withPaths(async (pathOf) => {
      const architecture = input.architecture === null ? null : await inputOf(input.architecture, pathOf)
      const version = await inputOf(input.version, pathOf)
      return runConversion(
        { ...version, formats: [conversion.format], ...(architecture && { architecture }) },
        { signal },
      )
    })
    const [file] = made.files
    if (file === undefined) throw badRequest(made.refused[0]!.reason)
    return blobs.stage(inPieces(file.bytes), { maxBytes: 2 * maxBytes })
  }

  /** Does nothing if another process has claimed it in the meantime. */
  const end = (conversion: StoredConversion, outcome: ConversionOutcome): Promise<void> =>
    database.transaction(async (tx) => {
      const ended = await conversionsStore.end(tx, conversion, owner, outcome, now())
      if (ended === null) return
      const { modelId, version, format } = conversion
      await events.publish(tx, 'conversion.ended', { modelId, version, format, ...ended })
    })

  const convert = async (conversion: StoredConversion): Promise<void> => {
    const { modelId: model_id, version, format } = conversion
    const canceling = new AbortController()
    const renew = async (): Promise<void> => {
      const held = await conversionsStore.renew(database.sql, conversion, owner)
      if (!held) canceling.abort(new Superseded('The version was deleted, or it is being converted again.'))
    }
    const renewal = setInterval(
      () => void renew().catch((err: unknown) => log.error({ model_id, err }, 'lease could not be renewed')),
      RENEW_MS,
    )
    try {
      const made = await make(conversion, anySignal(canceling.signal, stopping.signal))
      if (made === null) return
      try {
        await files.keep(made)
      } finally {
        await made.discard()
      }
      await end(conversion, { file: made })
      log.info({ model_id, version, format, size: made.size }, 'version converted')
    } catch (error) {
      if (error instanceof Superseded) return
      if (isTheFilesFault(error)) {
        log.info({ model_id, version, format, reason: error.message }, 'version not converted')
        return await end(conversion, { reason: error.message })
      }
      const failed = !(error instanceof Stopping)
      await conversionsStore.release(database.sql, conversion, owner, {
        counts: failed && !isUnavailable(error),
        failed,
      })
      if (failed) throw error
    } finally {
      clearInterval(renewal)
    }
  }

  return {
    /** Makes all waiting conversions that no other process holds. A failure does not stop the others. */
    async run(): Promise<void> {
      const failures: unknown[] = []
      while (!stopping.signal.aborted) {
        const conversion = await conversionsStore.claim(database.sql, owner)
        if (conversion === null) break
        await convert(conversion).catch((error: unknown) => failures.push(error))
      }
      if (failures.length > 0) throw failures[0]
    },

    /** Releases what the last process held. Call it at the start of a process that alone can open its database. */
    forgetDeadHolders: (): Promise<void> => conversionsStore.releaseAll(database.sql),

    /** Aborts the current conversion, which then waits for the next process. */
    close(): void {
      stopping.abort(new Stopping('The service is shutting down.'))
    },
  }
}
