import { constants } from 'node:fs'
import { access, chmod, mkdtemp, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config.ts'
import { asDiskFull } from '../domain/outages.ts'
import { otherOwnerOf, ownerAdvice } from '../platform/files/folder-owner.ts'
import { checkKeys } from '../platform/files/key-files.ts'
import { codeOf, faultOf, requireFolder } from '../platform/files/make-folder.ts'

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
    await requireFolder(path)
    await closeToOthers(path)
    const probe = await mkdtemp(join(path, '.probe-')).catch((error: unknown) => {
      throw new Error(`it is not writable (${faultOf(error)})`, { cause: error })
    })
    await rmdir(probe)
  } catch (error) {
    if (asDiskFull(error) !== undefined || asDiskFull((error as Error).cause) !== undefined) {
      throw new ConfigError(
        `${setting}: the folder ${path} cannot be used: the disk is full. Free space, or set ${setting} to a folder on another disk.`,
      )
    }
    const owner = await ownerAdvice(path, path)
    throw new ConfigError(
      `${setting}: the folder ${path} cannot be used: ${(error as Error).message}. ` +
        `${owner === null ? 'Set' : `${owner}, or set`} ${setting} to a folder that this user may write to.`,
    )
  }
}

/** What the service creates in a folder of stored files. */
export const BLOB_FOLDERS: readonly string[] = ['sha256', 'staging', 'partial', 'processes', 'cache']

/**
 * Creates a folder for stored files, and checks that this user may write to it and to its subfolders, down to those that contain
 * the files. Others may be there, such as lost+found.
 * @throws ConfigError naming the setting, the folder, and the problem.
 */
export const requireStorageFolder = async (path: string, setting?: string): Promise<void> => {
  await requireDataFolder(path, setting)
  const own = (await readdir(path)).filter((name) => BLOB_FOLDERS.includes(name))
  for (const name of own) {
    const inner = join(path, name)
    for (const folder of [
      inner,
      ...(name === 'sha256' ? (await readdir(inner)).map((part) => join(inner, part)) : []),
    ]) {
      const denied = await access(folder, constants.W_OK | constants.X_OK).then(() => null, codeOf)
      if (denied !== 'EACCES') continue
      const advice = (await ownerAdvice(folder, path)) ?? `run chmod u+rwx ${folder}`
      throw new ConfigError(`${setting ?? 'SERVICE_DATA_DIR'}: the folder ${folder} is not writable: ${advice}.`)
    }
  }
}

/** As a shell takes it. */
const quoted = (word: string): string => (/^[\w./:@=+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/** Settings that sudo would drop. `svc` passes the data folder and the log level by itself. */
const settingNames = (): readonly string[] =>
  Object.keys(process.env).filter(
    (name) => /^(SERVICE|AWS|PG)_?[A-Z]/.test(name) && !['SERVICE_DATA_DIR', 'SERVICE_LOG_LEVEL'].includes(name),
  )

/**
 * Refuses to run as root for the service of another user, who could not open what root writes to the data folder.
 * @param written what belongs to that user: the folder, or files that the service writes. The first that exists counts.
 * @param argv the command of `svc`, without the data folder
 * @throws ConfigError
 */
export const refuseAsRoot = async (
  dataDir: string,
  written: readonly string[],
  argv: readonly string[],
): Promise<void> => {
  if (process.geteuid?.() !== 0) return
  const existing = await Promise.all(written.map(exists))
  const last = written.find((_path, at) => existing[at])
  const owner = last === undefined ? null : await otherOwnerOf(last)
  if (owner === null) return
  const user = /^\d/.test(owner.name) ? `'#${owner.name}'` : owner.name
  const settings = settingNames()
  const kept = settings.length === 0 ? '' : ` --preserve-env=${settings.join(',')}`
  const command = ['svc', ...argv, '--data-dir', dataDir].map(quoted).join(' ')
  throw new ConfigError(
    `The data folder ${dataDir} is used by ${owner.name}, who could not open what root writes to it. Run the command as that ` +
      'user, who also needs access to the backups, with the settings of the service (without sudo: setpriv ' +
      `--reuid=${owner.uid} --regid=${owner.uid} --clear-groups): sudo -u ${user}${kept} ${command}`,
  )
}

/** @throws ConfigError if a key in the data folder cannot be used: requests that need it would fail */
export const requireKeys = (dataDir: string): Promise<void> =>
  checkKeys(dataDir).catch((error: Error) => {
    throw new ConfigError(error.message)
  })

/** A file that marks a data folder to which a backup is being restored. */
export const RESTORING = 'restore-unfinished'

/** True also if this user may not see it. */
const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: unknown) => !['ENOENT', 'ENOTDIR'].includes(codeOf(error)),
  )

/** Whether the data folder has an embedded database, in use or not. */
export const hasEmbedded = (dataDir: string): Promise<boolean> => exists(join(dataDir, 'database', 'PG_VERSION'))

/** @throws ConfigError if a restore to the folder was interrupted */
export const refuseUnfinishedRestore = async (dataDir: string): Promise<void> => {
  if (await exists(join(dataDir, RESTORING))) {
    throw new ConfigError(`A restore to ${dataDir} did not finish. Run svc restore again.`)
  }
}

/** @throws ConfigError if the data folder has no embedded database: opening it would create one */
export const requireEmbedded = async (dataDir: string): Promise<void> => {
  await refuseUnfinishedRestore(dataDir)
  if (await hasEmbedded(dataDir)) return
  throw new ConfigError(
    `There is no embedded database in ${dataDir}. Set SERVICE_DATA_DIR or --data-dir to the data folder of the service, or ` +
      'SERVICE_DATABASE_URL if it uses a PostgreSQL server.',
  )
}
