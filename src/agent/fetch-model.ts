import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { renameWithRetries } from '../platform/files/durable-file.ts'
import { openFileSink } from '../platform/transfer/file-sink.ts'
import type { DownloadSink } from '../sdk/download.ts'
import { extensionByContent } from './weight-file-extension.ts'

const PARTIAL = 'global.partial'

/** Downloads a model into the folder, and resumes an earlier download. The file extension is that of its format. */
export const fetchModel = async (folder: string, download: (sink: DownloadSink) => Promise<void>): Promise<string> => {
  const partial = join(folder, PARTIAL)
  const earlier = (await readdir(folder)).find((name) => name.startsWith('global.'))
  if (earlier !== undefined && earlier !== PARTIAL) await rename(join(folder, earlier), partial)
  const sink = await openFileSink(partial)
  try {
    await download(sink)
  } finally {
    await sink.close()
  }
  const path = join(folder, `global${extensionByContent(partial)}`)
  await renameWithRetries(partial, path)
  return path
}
