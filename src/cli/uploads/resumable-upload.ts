import { type Answer, type Line, sendForm, sendOnce, type Upload, uploadOnce } from './upload.ts'

/** Smaller files are sent again from the start when a connection breaks. */
export const RESUMABLE_FROM = 8 * 1024 * 1024

export interface ResumableUpload extends Upload {
  /** Of the service, without /api/v1. */
  readonly baseUrl: string
  readonly sha256: string
  /** Told how much of the file the service has before anything is sent. */
  readonly found: (offset: number) => void
}

/**
 * Asks how much of the file has arrived, sends the rest, and has a version made of it; gives back the answer that ended
 * this. One with status 409 and a Retry-After is worth another call, which asks anew.
 * @throws Interruption when a connection breaks
 */
export const uploadRest = async (upload: ResumableUpload, line: Line): Promise<Answer> => {
  const { sha256, path, bytes, progress } = upload
  const url = new URL(`${upload.baseUrl}/api/v1/uploads/${sha256}`)
  const requested = await sendOnce({ method: 'HEAD', url: new URL(`?size=${bytes}`, url), headers: {} }, line)
  // A service of before there were such uploads.
  if (requested.status === 404) return uploadOnce(upload, line)
  if (requested.status === 429 || requested.status >= 500) return requested
  // What else is wrong, an answer to HEAD cannot say: the next one does.
  const offset = requested.uploadOffset ?? 0
  upload.found(offset)
  if (offset < bytes) {
    const headers = {
      'content-type': 'application/octet-stream',
      'upload-offset': String(offset),
      'upload-length': String(bytes),
    }
    const sent = await sendOnce({ method: 'PATCH', url, headers, file: { path, from: offset, bytes, progress } }, line)
    if (sent.status !== 204) return sent
  }
  const named = { upload: `sha256:${sha256}`, upload_size: String(bytes), file_name: upload.fileName }
  return sendForm(upload.url, { ...upload.fields, ...named }, line)
}
