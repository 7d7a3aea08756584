import type { Database } from '../../../platform/db/open.ts'
import type { StoredBlob } from './manifest.ts'
import { storedFilesReport } from './stored-files.report.ts'

/** Returns every stored file that the database lists. */
export const listStoredFiles = (database: Database): AsyncIterable<StoredBlob> => storedFilesReport.all(database.sql)
