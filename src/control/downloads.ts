import { blobPath } from '../platform/blobs/blob-store.ts'
import type { Download } from '../platform/http/download.ts'
import type { Context } from './context.ts'

/** The location of nginx for the folder of stored files; see deploy/nginx. */
const INTERNAL = '/stored-files'

/** Returns the response for a stored file, which is sent as SERVICE_DOWNLOADS specifies. */
export type Downloads = (file: Omit<Download, 'open' | 'redirect' | 'internalPath'>) => Download

export const createDownloads =
  ({ blobs, config }: Pick<Context, 'blobs' | 'config'>): Downloads =>
  (file) => ({
    ...file,
    open: (range, chunks) => blobs.read(file.sha256, range, chunks),
    ...(config.downloads === 'redirect' &&
      blobs.presign && { redirect: () => blobs.presign!(file.sha256, file.fileName) }),
    ...(config.downloads === 'x-accel' && { internalPath: `${INTERNAL}/${blobPath(file.sha256)}` }),
  })
