import { type Line, sendForm, sendOnce, type Upload, type UploadResponse, uploadOnce } from './upload.ts'

/** Smaller files are sent again from the start after a lost connection. */
export const RESUMABLE_FROM = 8 * 1024 * 1024

export interface ResumableUpload extends Upload {
  /** Address of the service, without /api/v1. */
  readonly baseUrl: string
  readonly sha256: string
  /** Called with the number of bytes that the service already has, before anything is sent. */
  readonly found: (offset: number) => void
}

/**
 * Asks how much of the file has arrived, sends the rest, and creates the version from it. Returns the last response. After
 * status 409 with Retry-After, call it again: it starts with a new request.
 * @throws Interruption when a connection breaks
 */
export const uploadRest = async (upload: ResumableUpload, line: Line): Promise<UploadResponse> => {
  const { sha256, path, bytes, progress } = upload
  const url = new URL(`${upload.baseUrl}/api/v1/uploads/${sha256}`)
  const requested = await sendOnce({ method: 'HEAD', url: new URL(`?size=${bytes}`, url), headers: {} }, line)
  // An older service without resumable uploads.
  if (requested.status === 404) return uploadOnce(upload, line)
  if (requested.status === 429 || requested.status >= 500) return requested
  // A HEAD response has no error message; other errors show up in the next response.
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
