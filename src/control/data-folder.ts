import { access, chmod, mkdir, mkdtemp, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ConfigError } from '../config.ts'

const FAULTS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'the file system does not allow new files there',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'the name is too long',
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)

const faultOf = (error: unknown): string => FAULTS[codeOf(error)] ?? codeOf(error)

/** Whether the folder exists; throws if it is not a folder or cannot be checked. */
const isFolder = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    if (codeOf(error) === 'ENOTDIR') throw new Error('a part of its path is a file')
    throw new Error(faultOf(error), { cause: error })
  })
  if (found?.isDirectory() === false) throw new Error(`${path} is not a folder`)
  return found !== null
}

/** Like mkdir with `recursive`, which in Node 20 never returns where the kernel answers ENOENT, as below /proc. */
const makeFolder = async (path: string): Promise<void> => {
  if (await isFolder(path)) return
  await makeFolder(dirname(path))
  await mkdir(path, { mode: 0o700 }).catch(async (error: unknown) => {
    if (codeOf(error) !== 'EEXIST' || !(await isFolder(path))) {
      throw new Error(`${path} cannot be created (${faultOf(error)})`, { cause: error })
    }
  })
}

/** Restricts access, because it contains keys and weights. A writable folder of another owner is left as it is. */
const closeToOthers = async (path: string): Promise<void> => {
  const { mode } = await stat(path)
  if ((mode & 0o077) === 0) return
  await chmod(path, mode & 0o700).catch((error: unknown) => {
    if (codeOf(error) !== 'EPERM')
      throw new Error(`its permissions cannot be restricted (${faultOf(error)})`, { cause: error })
  })
}

const PROBE = Buffer.alloc(64 * 1024, 1)
const PROBED_MS = 2000

/**
 * A check that passes while 64 KiB can be written to the folder. Quotas show only when a write fails, so it writes, at
 * most once in two seconds.
 */
export const watchFreeSpace = (folder: string): (() => Promise<void>) => {
  const path = join(folder, `.room-${process.pid}`)
  let last = { at: Number.NEGATIVE_INFINITY, result: Promise.resolve() }
  const probe = async (): Promise<void> => {
    try {
      await writeFile(path, PROBE, { mode: 0o600 })
    } finally {
      await rm(path, { force: true })
    }
  }
  return () => {
    if (performance.now() - last.at >= PROBED_MS) {
      const result = probe()
      result.catch(() => undefined)
      last = { at: performance.now(), result }
    }
    return last.result
  }
}

/**
 * Creates the folder `path`, the data folder or one below it, if it is missing, and checks that it is writable.
 * @throws ConfigError naming the setting, the folder and what is wrong with it.
 */
export const requireDataFolder = async (path: string, setting = 'SERVICE_DATA_DIR'): Promise<void> => {
  try {
    await makeFolder(path)
    await closeToOthers(path)
    const probe = await mkdtemp(join(path, '.probe-')).catch((error: unknown) => {
      throw new Error(`it is not writable (${faultOf(error)})`, { cause: error })
    })
    await rmdir(probe)
  } catch (error) {
    throw new ConfigError(
      `${setting}: the folder ${path} cannot be used: ${(error as Error).message}. ` +
        `Set ${setting} to a folder that this user may write to.`,
    )
  }
}

/** The file in a data folder to which a backup is being restored. */
export const RESTORING = 'restore-unfinished'

/** @throws ConfigError when a restore to the folder was interrupted */
export const refuseUnfinishedRestore = async (dataDir: string): Promise<void> => {
  const isUnfinished = await access(join(dataDir, RESTORING)).then(
    () => true,
    () => false,
  )
  if (isUnfinished) {
    throw new ConfigError(`A restore to ${dataDir} did not finish. Run svc restore again.`)
  }
}
