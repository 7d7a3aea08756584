import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { brotliCompress, constants, createBrotliDecompress } from 'node:zlib'
import { renameWithRetries } from '../../files/durable-file.ts'
import { startThread } from '../../threads/start-thread.ts'

// initdb takes several seconds and 800 MB to create an empty database folder. The template was created in advance (1 MB, see
// write-template.ts); without it, a temporary thread creates the folder now.

const TEMPLATE = new URL('./template.bin', import.meta.url)

/** The PostgreSQL version whose folders our PGlite opens. Folders of other versions need an export and an import. */
export const EMBEDDED_MAJOR = '18'

interface Entry {
  readonly path: string
  /** In bytes; null for a folder. */
  readonly size: number | null
}

const listFolder = async (folder: string, inside = ''): Promise<Entry[]> => {
  const found = await readdir(join(folder, inside), { withFileTypes: true })
  const entries: Entry[] = []
  for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(inside, entry.name)
    if (entry.isDirectory()) entries.push({ path, size: null }, ...(await listFolder(folder, path)))
    else entries.push({ path, size: (await stat(join(folder, path))).size })
  }
  return entries
}

/**
 * Packs a folder into one compressed file: a line of JSON that lists the entries, then the files' bytes in that order.
 * `quality` is Brotli's, up to 11.
 */
export const packFolder = async (folder: string, quality: number): Promise<Buffer> => {
  const entries = await listFolder(folder)
  const parts = [Buffer.from(`${JSON.stringify(entries)}\n`)]
  for (const { path, size } of entries) if (size !== null) parts.push(await readFile(join(folder, path)))
  const bytes = Buffer.concat(parts)
  const params = {
    [constants.BROTLI_PARAM_LGWIN]: 22,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    [constants.BROTLI_PARAM_QUALITY]: quality,
  }
  return promisify(brotliCompress)(bytes, { params })
}

/** Unpacks `packFolder`'s result into a folder that does not exist yet. Only the owner can read the written files. */
export const unpackFolder = async (packed: Uint8Array, folder: string): Promise<void> => {
  const chunks: AsyncIterator<Buffer> = Readable.from([packed]).pipe(createBrotliDecompress())[Symbol.asyncIterator]()
  const nextChunk = async (): Promise<Buffer> => {
    const { done, value } = await chunks.next()
    if (done) throw new Error('The packed folder is cut off.')
    return value
  }
  // Never holds the whole folder in memory, which an idle service would keep.
  let rest = await nextChunk()
  while (!rest.includes('\n')) rest = Buffer.concat([rest, await nextChunk()])
  const firstFile = rest.indexOf('\n') + 1
  const entries = JSON.parse(rest.toString('utf8', 0, firstFile)) as Entry[]
  rest = rest.subarray(firstFile)
  await mkdir(folder, { mode: 0o700 })
  for (const { path, size } of entries) {
    if (size === null) {
      await mkdir(join(folder, path), { mode: 0o700 })
      continue
    }
    const file = await open(join(folder, path), 'wx', 0o600)
    for (let missing = size; missing > 0; ) {
      if (rest.length === 0) rest = await nextChunk()
      const part = rest.subarray(0, missing)
      await file.writeFile(part)
      rest = rest.subarray(part.length)
      missing -= part.length
    }
    await file.close()
  }
}

const sync = async (path: string): Promise<void> => {
  const file = await open(path, 'r')
  await file.sync()
  await file.close()
}

const syncTree = async (folder: string): Promise<void> => {
  // Windows can flush neither folders nor files opened for reading; its file cache is written to disk within seconds.
  if (process.platform === 'win32') return
  const entries = await listFolder(folder)
  await Promise.all(entries.map(({ path }) => sync(join(folder, path))))
  await sync(folder)
}

/** Runs initdb in a separate thread, so that its memory is released. */
export const runInitdb = (folder: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const worker = startThread(import.meta.url, 'initdb.worker', { workerData: { folder } })
    worker.once('error', reject)
    worker.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`initdb ended with code ${code}`))))
  })

/** Creates an empty database folder, complete and on disk, or none: it is written under another name and renamed at the end. */
export const createDatabaseFolder = async (folder: string): Promise<void> => {
  const growing = `${folder}.new`
  await rm(growing, { recursive: true, force: true })
  const packed = await readFile(TEMPLATE).catch(() => undefined)
  if (packed) await unpackFolder(packed, growing)
  else await runInitdb(growing)
  await syncTree(growing)
  await renameWithRetries(growing, folder)
  if (process.platform !== 'win32') await sync(dirname(folder))
}
