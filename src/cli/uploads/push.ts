import { rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../client/client.ts'
import { type ConvertedFormat, extensionOf, type Framework, isUuid } from '../../domain/model.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import type { Metadata } from '../../domain/version-metadata.ts'
import { digestOf } from '../../platform/transfer/file-sink.ts'
import { Interruption } from '../../platform/transfer/transfer-error.ts'
import { retryNote } from '../../sdk/retry.ts'
import { type Connection, toFailure } from '../connection.ts'
import { Failure } from '../failure.ts'
import {
  type ListedVersion,
  type ModelDetail,
  modelNamed,
  nullIfNotFound,
  versionNamed,
} from '../model-sources/catalog.ts'
import { showProgress } from '../progress.ts'
import type { Session } from '../session.ts'
import type { Pushed } from './push-source.ts'
import { RESUMABLE_FROM, uploadRest } from './resumable-upload.ts'
import { type UploadResponse, uploadOnce } from './upload.ts'

export interface PushOptions {
  readonly connection: Connection
  /** Name or id of the model. */
  readonly model: string
  /** A semantic version. */
  readonly version: string
  /** What to record with the version. */
  readonly metadata?: Metadata
  /** Formats for the service to convert it to. */
  readonly formats?: readonly ConvertedFormat[]
  readonly stallMs?: number
}

export interface Outcome {
  readonly model: ModelDetail
  readonly version: Omit<ListedVersion, 'aliases' | 'trained_by' | 'formats'>
  /** True if the label already had the same bytes. */
  readonly wasThere: boolean
  readonly warnings: readonly string[]
}

/** Over half a minute: as long as a restart takes. */
const TRIES = 7
/** The service may hold the file for a while for an earlier connection that it does not yet know is lost. */
const BUSY_TRIES = 60
const FIRST_WAIT_MS = 500
const STALL_MS = 120_000

const isTransient = (status: number): boolean => status === 429 || status >= 500

const FRAMEWORK_OF_ENDING: Readonly<Record<string, Framework>> = {
  h5: 'tensorflow',
  keras: 'tensorflow',
  tflite: 'tensorflow',
  pkl: 'sklearn',
  joblib: 'sklearn',
  ubj: 'xgboost',
}

/** Returns the model with that name. Creates it if there is none. */
const findOrCreate = async (connection: Connection, name: string, fileName: string): Promise<ModelDetail> => {
  const found = await nullIfNotFound(modelNamed(connection, name))
  if (found !== null) return found
  if (isUuid(name))
    throw new Failure(`There is no model with the id ${name}.`, {
      advice: 'Leave out --model-id, or give the name of the model.',
    })
  const framework = ownEntry(FRAMEWORK_OF_ENDING, extensionOf(fileName)) ?? 'pytorch'
  try {
    await connection.request((client) => client.POST('/api/v1/models', { body: { name, framework } }))
  } catch (error) {
    const isTaken = error instanceof Failure && error.cause instanceof ApiError && error.cause.code === 'conflict'
    if (!isTaken) throw error
    // It has just been created by another client.
  }
  return modelNamed(connection, name)
}

/** Returns the version with that label if it has the same bytes. @throws Failure if it has different bytes */
const sameVersion = (model: ModelDetail, label: string, sha256: string): ListedVersion | null => {
  const found = versionNamed(model, label)
  if (found === null || found.version_label !== label) return null
  if (found.model_hash === `sha256:${sha256}`) return found
  throw new Failure(`Version ${label} of '${model.name ?? model.id}' already exists with other contents.`, {
    advice: 'Versions cannot be changed. Choose another --version.',
  })
}

/** Records metadata with a version that was there before the upload; returns all of the version's. */
const recorded = async (
  { model, version }: Outcome,
  metadata: Metadata,
  { connection }: PushOptions,
  { out }: Session,
): Promise<Metadata> => {
  if (Object.entries(metadata).every(([key, value]) => version.metadata[key] === value)) return version.metadata
  const path = { model_id: model.id, version: String(version.version) }
  const changed = await connection.request((client) =>
    client.PATCH('/api/v1/models/{model_id}/versions/{version}', { params: { path }, body: { metadata } }),
  )
  out.note(`The metadata of version ${version.version_label} was changed.`)
  return changed.metadata
}

/**
 * Uploads the file as a version. After a lost connection, a small file is sent again from the start; a large one resumes where
 * it stopped, even in an earlier push. A label that already has the same bytes is a success, so a push can be repeated if its
 * response was lost.
 */
export const push = async (pushed: Pushed, options: PushOptions, session: Session): Promise<Outcome> => {
  const { connection, version: label, metadata = {} } = options
  const { io, out } = session
  const { size: bytes } = await stat(pushed.path)
  if (bytes === 0) throw new Failure(`${pushed.path} is empty: a version needs weights.`)
  const sha256 = await digestOf(pushed.path, 'sha256')
  const name = options.model
  let model = await findOrCreate(connection, name, pushed.fileName)
  const before = sameVersion(model, label, sha256)
  const access = await session.apiKey(connection.baseUrl)
  if (access === null) throw new Failure('The key was revoked or has expired.', { advice: 'Sign in again: svc login' })
  const outcome = (
    { aliases: _, trained_by: __, formats: ___, ...version }: ListedVersion,
    wasThere: boolean,
    warnings: readonly string[] = [],
  ): Outcome => ({
    model,
    version,
    wasThere,
    warnings,
  })

  const isResumable = bytes > RESUMABLE_FROM
  let tries = 0
  let arrived = 0
  const found = (offset: number): void => {
    if (offset > 0) out.note(`${pushed.fileName}: resuming at ${Math.floor((100 * offset) / bytes)}%.`)
    // Progress resets the count of tries: the upload may be slow and often interrupted.
    if (offset > arrived) tries = 1
    arrived = Math.max(arrived, offset)
  }

  const send = async (): Promise<UploadResponse> => {
    const bar = showProgress(io, `Pushing ${pushed.fileName}`)
    const upload = {
      url: new URL(`${connection.baseUrl}/api/v1/models/${model.id}/versions/upload`),
      path: pushed.path,
      bytes,
      fileName: pushed.fileName,
      fields: {
        version_label: label,
        ...(pushed.description && { description: pushed.description.slice(0, 1000) }),
        ...(Object.keys(metadata).length > 0 && { metadata: JSON.stringify(metadata) }),
        ...(options.formats && { formats: options.formats.join(',') }),
      },
      progress: bar.update,
    }
    const line = { key: access.key, signal: io.signal, stallMs: options.stallMs ?? STALL_MS }
    try {
      if (!isResumable) return await uploadOnce(upload, line)
      return await uploadRest({ ...upload, baseUrl: connection.baseUrl, sha256, found }, line)
    } finally {
      bar.end()
    }
  }

  const sendUntilAccepted = async (): Promise<Outcome> => {
    for (let busy = 0; ; ) {
      tries++
      let failure: Failure
      let waitMs: number | null = null
      try {
        const { status, body, retryAfterMs, warning } = await send()
        if (warning !== null) out.warn(warning)
        if (status === 201) {
          const { warnings, ...version } = body as ListedVersion & { readonly warnings: readonly string[] }
          if (version.model_hash === `sha256:${sha256}`) return outcome(version, false, warnings)
          throw new Failure(`The service stored ${version.model_hash} instead of sha256:${sha256}.`, {
            advice: `The file changed while it was being sent. Push it under another --version; ${label} has the wrong bytes.`,
          })
        }
        failure = toFailure(new ApiError(status, body), { baseUrl: connection.baseUrl, keySource: access.source })
        // The response to an earlier try may have been lost.
        const isHeld = status === 409 && retryAfterMs !== null
        if (status === 409 && !isHeld) return outcome(await sameOrThrow(failure), true)
        if (!isHeld && !isTransient(status)) throw failure
        if (isHeld && retryAfterMs > 0 && ++busy < BUSY_TRIES) tries--
        waitMs = retryAfterMs
      } catch (error) {
        if (!(error instanceof Interruption)) throw error
        failure = new Failure(`The upload to ${connection.baseUrl} failed: ${error.message}.`, {
          advice: isResumable
            ? 'Push it again: the upload resumes where it stopped.'
            : 'Push it again: an incomplete upload never becomes a version.',
          cause: error,
        })
      }
      if (tries >= TRIES) throw failure
      out.note(`${retryNote(failure.message)}.`)
      await sleep(Math.max(waitMs ?? 0, FIRST_WAIT_MS * 2 ** (tries - 1)), undefined, { signal: io.signal })
      const same = await sameNow().catch((error: unknown) => {
        // The service may still be unavailable; the next try will tell.
        if (error instanceof Failure && error.cause instanceof ApiError && !isTransient(error.cause.status)) throw error
        return null
      })
      if (same !== null) return outcome(same, true)
    }
  }
  const sameNow = async (): Promise<ListedVersion | null> => {
    model = await modelNamed(connection, model.id)
    return sameVersion(model, label, sha256)
  }
  const sameOrThrow = async (failure: Failure): Promise<ListedVersion> => {
    const found = await sameNow()
    if (found === null) throw failure
    return found
  }

  const done = before === null ? await sendUntilAccepted() : outcome(before, true)
  if (pushed.isOurs) await rm(dirname(pushed.path), { recursive: true, force: true })
  if (!done.wasThere) return done
  return { ...done, version: { ...done.version, metadata: await recorded(done, metadata, options, session) } }
}
