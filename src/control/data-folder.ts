import { access, chmod, mkdtemp, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config.ts'
import { otherOwnerOf, ownerAdvice } from '../platform/db/embedded/folder-owner.ts'
import { checkKeys } from '../platform/secrets.ts'
import { codeOf, faultOf, makeFolder } from '../platform/transfer/make-folder.ts'

/** Restricts access, because the folder contains keys and weights. A writable folder of another owner stays unchanged. */
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
 * Returns a check that passes while 64 KiB can be written to the folder. It really writes, because a quota shows only when a
 * write fails, but at most once in two seconds.
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
 * Creates the folder `path`, the data folder or a folder for stored files, if it is missing, and checks that it is writable.
 * @throws ConfigError naming the setting, the folder, and the problem.
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
    const owner = await ownerAdvice(path, path)
    throw new ConfigError(
      `${setting}: the folder ${path} cannot be used: ${(error as Error).message}. ` +
        `${owner === null ? 'Set' : `${owner}, or set`} ${setting} to a folder that this user may write to.`,
    )
  }
}

/**
 * Refuses to run as root for the service of another user, who could not open what root writes to the data folder.
 * @param written what belongs to that user: the folder, or a file that the service has written
 * @throws ConfigError
 */
export const refuseAsRoot = async (dataDir: string, written: string, command: string): Promise<void> => {
  const owner = process.geteuid?.() === 0 ? await otherOwnerOf(written) : null
  if (owner === null) return
  const user = /^\d/.test(owner.name) ? `'#${owner.name}'` : owner.name
  throw new ConfigError(
    `The data folder ${dataDir} is used by ${owner.name}, who could not open what root writes to it. Run the command as that ` +
      `user, who also needs access to the backups: sudo -u ${user} ${command} …`,
  )
}

/** @throws ConfigError if a key in the data folder cannot be used: requests that need it would fail */
export const requireKeys = (dataDir: string): Promise<void> =>
  checkKeys(dataDir).catch((error: Error) => {
    throw new ConfigError(error.message)
  })

/** A file that marks a data folder to which a backup is being restored. */
export const RESTORING = 'restore-unfinished'

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Whether the data folder has an embedded database, in use or not. */
export const hasEmbedded = (dataDir: string): Promise<boolean> => exists(join(dataDir, 'database', 'PG_VERSION'))

/** @throws ConfigError if a restore to the folder was interrupted */
export const refuseUnfinishedRestore = async (dataDir: string): Promise<void> => {
  if (await exists(join(dataDir, RESTORING))) {
    throw new ConfigError(`A restore to ${dataDir} did not finish. Run svc restore again.`)
  }
}
