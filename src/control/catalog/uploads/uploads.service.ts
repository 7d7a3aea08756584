import { createHash } from 'node:crypto'
import type { Caller } from '../../../domain/access.ts'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import type { PartialFiles } from '../../../platform/blobs/partial-files.ts'
import type { Context } from '../../context.ts'

const KEPT_MS = 24 * 60 * 60 * 1000
const BUSY_SECONDS = 2

/** A file as its uploader describes it. */
export interface DeclaredUpload {
  readonly sha256: string
  readonly size: number
}

/** Retry-After distinguishes these from conflicts that a retry does not resolve. */
const tryAgain = (afterSeconds: number, message: string): ServiceError =>
  new ServiceError('conflict', message, { retryAfterSeconds: afterSeconds })

/** Resumable uploads: what arrived before a connection broke is kept for a day, to be continued. */
export const createUploadsService = (
  { blobs, now }: Context,
  {
    partials,
    maxBytes,
  }: {
    readonly partials: PartialFiles
    readonly maxBytes: number
  },
) => {
  /** Separates organizations: none can see or break an upload of another. */
  const nameOf = ({ orgId }: Caller, { sha256, size }: DeclaredUpload): string =>
    createHash('sha256')
      .update(JSON.stringify([orgId, sha256, size]))
      .digest('hex')

  const offset = (caller: Caller, file: DeclaredUpload): Promise<number> => partials.size(nameOf(caller, file))

  const assertFits = ({ size }: DeclaredUpload): void => {
    if (size <= maxBytes) return
    throw badRequest(
      `The upload of ${size} bytes is larger than the ${maxBytes} bytes that this server accepts. ` +
        'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
    )
  }

  return {
    offset,

    /** Appends the source's bytes at `from`; returns the new size. */
    async append(
      caller: Caller,
      file: DeclaredUpload,
      from: number,
      source: AsyncIterable<Uint8Array>,
    ): Promise<number> {
      assertFits(file)
      if (from > file.size) throw badRequest(`Upload-Offset ${from} exceeds Upload-Length ${file.size}.`)
      const { outcome, size } = await partials.append(nameOf(caller, file), { offset: from, total: file.size }, source)
      switch (outcome) {
        case 'appended':
          return size
        case 'busy':
          throw tryAgain(
            BUSY_SECONDS,
            'This file is being uploaded over another connection. Try again when that upload has ended.',
          )
        case 'elsewhere':
          throw tryAgain(
            0,
            `${size} bytes of this file have been received, not ${from}. Continue with Upload-Offset: ${size}.`,
          )
        case 'too-much':
          throw badRequest(`The body is longer than the ${file.size} bytes of Upload-Length.`)
      }
    },

    /**
     * Stages a complete upload. Copies it, so that no writer can change what is hashed, and the upload still exists if the
     * file cannot be used. `forget` ends it.
     */
    async stage(caller: Caller, file: DeclaredUpload): Promise<StagedBlob> {
      assertFits(file)
      const there = await offset(caller, file)
      if (there < file.size || file.size === 0) {
        throw tryAgain(
          0,
          `${there} of ${file.size} bytes of the upload sha256:${file.sha256} have been received. Send the rest first, with ` +
            `PATCH /api/v1/uploads/${file.sha256} and Upload-Offset: ${there}.`,
        )
      }
      const name = nameOf(caller, file)
      const staged = await blobs.stage(partials.read(name), { maxBytes })
      if (staged.sha256 === file.sha256) return staged
      await staged.discard()
      await partials.remove(name)
      throw badRequest(
        `The uploaded bytes have the hash sha256:${staged.sha256}, not sha256:${file.sha256}. They were deleted: ` +
          'upload the file again from the start.',
      )
    },

    forget: (caller: Caller, file: DeclaredUpload): Promise<void> => partials.remove(nameOf(caller, file)),

    /** Releases what the last process held. Call it at the start of a process that alone can open its database. */
    forgetDeadHolders: (): Promise<void> => partials.forgetWriters(),

    /** Removes uploads that have not been continued for a day. */
    expire: (): Promise<number> => partials.expire(new Date(now().getTime() - KEPT_MS)),
  }
}

export type UploadsService = ReturnType<typeof createUploadsService>
