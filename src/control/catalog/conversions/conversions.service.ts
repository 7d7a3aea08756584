import { notFound, ServiceError } from '../../../domain/errors.ts'
import {
  CONVERTED_ENDINGS,
  CONVERTED_FORMATS,
  type ConvertedFormat,
  type DownloadFormat,
  endingOf,
  isAlready,
  isArchitecture,
  labelOf,
  mayHaveGraph,
  type VersionFormat,
} from '../../../domain/model.ts'
import type { Executor } from '../../../platform/db/open.ts'
import type { Context } from '../../context.ts'
import { conversionsStore, type StoredConversion, type VersionFile } from './conversions.store.ts'

const RETRY_AFTER_SECONDS = 2

export type { StoredConversion } from './conversions.store.ts'

/** A version as it was uploaded. */
export interface UploadedVersion extends VersionFile {
  readonly modelId: string
  readonly version: number
  readonly format: VersionFormat
}

/** A version's file in the requested format. */
export interface DownloadableFile {
  readonly sha256: string
  readonly size: number
  /** The extension of the file's name; '' if it has none. */
  readonly extension: string
}

const isConverted = (format: DownloadFormat): format is ConvertedFormat =>
  (CONVERTED_FORMATS as readonly string[]).includes(format)

/** Versions in other formats than the uploaded one: made on request, ONNX also in the background. */
export const createConversions = (
  { database, events, now }: Context,
  {
    background,
  }: {
    /** Whether new versions are converted to ONNX automatically. */
    readonly background: boolean
  },
) => {
  const request = async (tx: Executor, version: UploadedVersion, formats: Iterable<ConvertedFormat>): Promise<void> => {
    const { modelId } = version
    for (const format of formats)
      await conversionsStore.request(tx, { modelId, version: version.version, format }, now())
    // Published even without formats: earlier conversions may be pending again.
    await events.publish(tx, 'conversion.requested', { modelId })
  }

  const inBackground = async (tx: Executor, { modelId, fileName }: UploadedVersion): Promise<boolean> =>
    background && (mayHaveGraph(fileName) || (await conversionsStore.hasArchitecture(tx, modelId)))

  /** Returns the state of the conversion, after requesting it if that has not been done before. */
  const stateOf = async (version: UploadedVersion, format: ConvertedFormat): Promise<StoredConversion> => {
    const id = { modelId: version.modelId, version: version.version, format }
    const before = await conversionsStore.find(database.sql, id)
    if (before !== null) return before
    await database.transaction((tx) => request(tx, version, [format]))
    const found = await conversionsStore.find(database.sql, id)
    if (found === null) throw notFound('Version', String(version.version))
    return found
  }

  return {
    /** Call it in the transaction that adds the version: requests the uploader's formats, and ONNX in the background. */
    async versionAdded(
      tx: Executor,
      version: UploadedVersion,
      requested: readonly ConvertedFormat[] = [],
    ): Promise<void> {
      const formats = new Set(requested)
      if (await inBackground(tx, version)) formats.add('onnx')
      for (const format of formats) if (isAlready(format, version)) formats.delete(format)
      const isGraph = isArchitecture(version.fileName)
      if (isGraph) await conversionsStore.restart(tx, version.modelId, now())
      if (isGraph || formats.size > 0) await request(tx, version, formats)
    },

    ofModel: (modelId: string): Promise<StoredConversion[]> => conversionsStore.ofModel(database.sql, modelId),

    /**
     * Returns the version's file in this format. Throws not_found with the state of its conversion, which this call requests
     * if necessary, and the time to try again; or with the reason why there is no such file.
     */
    async fileOf(
      version: UploadedVersion & { readonly ownLabel: string | null },
      format: DownloadFormat | undefined,
    ): Promise<DownloadableFile> {
      if (format === undefined || isAlready(format, version)) {
        return { sha256: version.sha256, size: version.size, extension: endingOf(version.fileName) }
      }
      const what = `Version ${labelOf(version.version, version.ownLabel)}`
      if (!isConverted(format)) {
        throw new ServiceError(
          'not_found',
          `${what} was uploaded as ${version.format} and cannot be converted to ${format}. Leave format out, or request ` +
            `${CONVERTED_FORMATS.join(', ')}.`,
        )
      }
      const { state, reason, file } = await stateOf(version, format)
      if (file !== null) return { ...file, extension: CONVERTED_ENDINGS[format][0] }
      if (state === 'failed') {
        throw new ServiceError('not_found', `${what} is not available as ${format}: ${reason}`)
      }
      throw new ServiceError(
        'not_found',
        `${what} is not available as ${format} yet: its conversion is ${state}. Try again in ${RETRY_AFTER_SECONDS} s.`,
        { retryAfterSeconds: RETRY_AFTER_SECONDS },
      )
    },
  }
}

export type Conversions = ReturnType<typeof createConversions>
