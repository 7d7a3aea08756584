import type { Config } from '../config.ts'
import { type BlobStore, blobPath } from '../platform/blobs/blob-store.ts'
import type { Download } from '../platform/http/download.ts'

/** Where nginx has the folder of stored files; see deploy/nginx. */
const INTERNAL = '/stored-files'

/** A stored file as a response, sent as SERVICE_DOWNLOADS says. */
export type Downloads = (file: Omit<Download, 'open' | 'redirect' | 'internalPath'>) => Download

export const createDownloads =
  ({ blobs, config }: { readonly blobs: BlobStore; readonly config: Config }): Downloads =>
  (file) => ({
    ...file,
    open: (range, chunks) => blobs.read(file.sha256, range, chunks),
    ...(config.downloads === 'redirect' &&
      blobs.presign && { redirect: () => blobs.presign!(file.sha256, file.fileName) }),
    ...(config.downloads === 'x-accel' && { internalPath: `${INTERNAL}/${blobPath(file.sha256)}` }),
  })
