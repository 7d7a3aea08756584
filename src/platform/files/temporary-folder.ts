import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from './file-lock.ts'
import { nullIfMissing } from './missing-file.ts'

/** The name contains the id of the process that deletes the folder when it is done. */
const NAME = /^\.?svc-[a-z-]+-(\d+)-\w{6}$/
/** A process in another container that shares the folder cannot be examined. */
const DAY_MS = 24 * 60 * 60 * 1000

/** Deletes folders in `parent` that killed processes of this user left behind more than a day ago. */
export const removeLeftovers = async (parent: string, isLeftover: (name: string) => boolean): Promise<void> => {
  for (const name of (await readdir(parent)).filter(isLeftover)) {
    const path = join(parent, name)
    const found = await nullIfMissing(lstat(path))
    // In those of other users, a link could replace a folder while it is being deleted.
    if (found === null || Date.now() - found.mtimeMs <= DAY_MS || (process.getuid?.() ?? found.uid) !== found.uid)
      continue
    await rm(path, { recursive: true, force: true }).catch(() => undefined)
  }
}

const isOfDead = (name: string): boolean => {
  const pid = NAME.exec(name)?.[1]
  return pid !== undefined && !isRunning(Number(pid))
}

/** The folders that this process has examined; it takes long if there are many files. */
const examined = new Set<string>()

/**
 * Creates a folder that only its owner may read; the caller deletes it. Its first call also deletes those that killed processes of
 * this user left behind more than a day ago. The name begins with `prefix`, such as `svc-audio`.
 */
export const makeTemporaryFolder = async (prefix: `${'' | '.'}svc-${string}`, parent = tmpdir()): Promise<string> => {
  if (!examined.has(parent)) {
    examined.add(parent)
    await removeLeftovers(parent, isOfDead).catch(() => undefined)
  }
  return mkdtemp(join(parent, `${prefix}-${process.pid}-`)).catch((error: unknown) => {
    // The user knows the parent, not the name of a folder that was never created.
    throw Object.assign(error as Error, { path: parent })
  })
}
