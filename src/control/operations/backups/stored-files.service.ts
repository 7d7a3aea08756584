import type { Database } from '../../../platform/db/open.ts'
import type { StoredBlob } from './manifest.ts'
import { createStoredFilesReport } from './stored-files.report.ts'

/** Every stored file that the database knows. */
export const listStoredFiles = (database: Database): AsyncIterable<StoredBlob> =>
  createStoredFilesReport().all(database.sql)
