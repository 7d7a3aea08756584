import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { asDiskFull } from '../../../domain/outages.ts'
import type { FileLock } from '../../files/file-lock.ts'
import { StartError } from '../start-error.ts'

const listen = (path: string): Promise<Server> =>
  new Promise((resolve, reject) => {
    // No client connects to this server: its existence is the lock, and the kernel removes it when this process dies.
    const server = createServer((socket) => socket.destroy())
    server.unref().once('error', reject)
    // exclusive: under node:cluster the primary would listen for its workers, and each would believe it holds the lock.
    server.listen({ path, exclusive: true }, () => resolve(server))
  })

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

const someoneListens = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = connect(path, () => resolve(true))
    socket
      .once('connect', () => socket.destroy())
      .once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
        else reject(error)
      })
  })

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'

/**
 * A name that only one process on this machine can hold: an abstract socket on Linux, a named pipe on Windows. Derived from the
 * folder's inode, so that different spellings of a path give the same name; padded to the full length, because Node versions
 * differ in whether they pad a shorter one.
 */
const kernelName = (folder: string): string | undefined => {
  const { dev, ino } = statSync(folder, { bigint: true })
  const name = createHash('sha256').update(`tributary ${dev}:${ino}`).digest('hex')
  if (process.platform === 'linux') return `\0${name.padEnd(107, '-')}`
  if (process.platform === 'win32') return `\\\\.\\pipe\\tributary-${name}`
  return undefined
}

const STALE_TAKEOVER_MS = 200

/**
 * The same lock as a socket file in the folder, for systems without such names, and for containers that share the folder but
 * not the kernel's names. A socket file outlives its process, but connecting to it then fails.
 */
const listenInside = async (path: string, inUse: () => StartError): Promise<Server> => {
  if (await someoneListens(path)) throw inUse()
  const stale = statSync(path, { throwIfNoEntry: false }) !== undefined
  rmSync(path, { force: true })
  const server = await listen(path)
  if (!stale) return server
  // Another process may have found the same stale file and replaced ours: the last one wins.
  const { ino } = statSync(path)
  await sleep(STALE_TAKEOVER_MS)
  if (statSync(path, { throwIfNoEntry: false })?.ino === ino) return server
  // Keeps ours open: closing it would remove the file, which now belongs to the other process.
  throw inUse()
}

/**
 * Makes this process the only one that opens the databases in `folder`; PGlite does not lock, and two processes would
 * destroy each other's rows. The kernel releases the lock when the process dies in any way.
 * @throws StartError naming the folder and the process that holds it, or why the folder cannot be used.
 */
export const lockFolder = (folder: string): Promise<FileLock> =>
  lock(folder).catch((error: unknown) => {
    if (error instanceof StartError) throw error
    const isFull = asDiskFull(error) !== undefined
    const fix = isFull ? 'Free space on the disk' : 'Make it writable for this user'
    throw new StartError(
      `The data folder ${folder} cannot be used: ${(error as Error).message}. ${fix}, or set SERVICE_DATA_DIR to another folder.`,
      error,
    )
  })

const lock = async (folder: string): Promise<FileLock> => {
  const ownerFile = join(folder, 'database.owner')
  const inUse = (): StartError => {
    let owner = 'another process'
    try {
      owner = readFileSync(ownerFile, 'utf8').trim()
    } catch {}
    return new StartError(
      `The data folder ${folder} is in use by ${owner}. Stop that process, or choose another SERVICE_DATA_DIR. ` +
        'To run several processes on the same data, set SERVICE_DATABASE_URL to a PostgreSQL server.',
    )
  }
  const held: Server[] = []
  // A socket's path is limited to about 100 bytes; on Linux it can be addressed through the folder's descriptor instead.
  const descriptor = process.platform === 'linux' ? openSync(folder, 'r') : undefined
  const release = async (): Promise<void> => {
    for (const server of held.reverse()) await close(server)
    if (descriptor !== undefined) closeSync(descriptor)
  }
  try {
    const name = kernelName(folder)
    if (name !== undefined) held.push(await listen(name))
    if (process.platform !== 'win32') {
      const inside = descriptor === undefined ? folder : `/proc/self/fd/${descriptor}`
      try {
        held.push(await listenInside(join(inside, 'database.lock'), inUse))
      } catch (error) {
        // Some folders (network drives, a desktop folder inside a container) cannot contain sockets: the name is enough.
        if (name === undefined || error instanceof StartError || isTaken(error)) throw error
      }
    }
    // A killed process of another user may have left one that only that user may write.
    rmSync(ownerFile, { force: true })
    writeFileSync(ownerFile, `process ${process.pid} on ${hostname()}\n`)
  } catch (error) {
    await release()
    throw isTaken(error) ? inUse() : error
  }
  return {
    release: async () => {
      rmSync(ownerFile, { force: true })
      await release()
    },
  }
}
