import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import type { BlobStore } from '../platform/blobs/blob-store.ts'
import { openFolderStore } from '../platform/blobs/folder-store.ts'
import type { ObjectStore } from '../platform/blobs/object-store.ts'
import { requireStorageFolder } from './data-folder.ts'

/** The configured storage of weight files. */
export interface Storage {
  readonly blobs: BlobStore
  /** On the local disk: all files or, with S3, only those in transit and cached copies. */
  readonly folder: string
  /** Null if the files are in a folder. */
  readonly objects: ObjectStore | null
}

const CONFIGURED = { setting: 'SERVICE_STORAGE_URL', name: 'The file storage of the service' }

/**
 * @param named what errors call the setting and the storage
 * @throws ConfigError naming the setting, and the problem with the folder or the bucket
 */
export const openStorage = async (
  { dataDir, storage, cacheBytes }: Pick<Config, 'dataDir' | 'storage' | 'cacheBytes'>,
  { setting, name } = CONFIGURED,
): Promise<Storage> => {
  if (storage.kind === 'folder' && storage.path !== null) {
    await requireStorageFolder(storage.path, setting)
    return { blobs: await openFolderStore(storage.path), folder: storage.path, objects: null }
  }
  const folder = join(dataDir, 'blobs')
  await requireStorageFolder(folder)
  if (storage.kind === 'folder') return { blobs: await openFolderStore(folder), folder, objects: null }
  const [{ openS3Objects }, { openS3Store }] = await Promise.all([
    import('../platform/blobs/s3-objects.ts'),
    import('../platform/blobs/s3-store.ts'),
  ])
  const objects = await openS3Objects(storage, name)
  await objects.check().catch((error: Error) => {
    throw new ConfigError(`${setting}: ${error.message}.`)
  })
  return { blobs: await openS3Store(objects, { folder, cacheBytes }), folder, objects }
}
