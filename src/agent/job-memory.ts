import { readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { renameDurably } from '../platform/files/durable-file.ts'
import { makeFolder } from '../platform/files/make-folder.ts'

/** How many jobs are remembered, because devices are not told when a job ends. */
const JOBS_KEPT = 20

/** The file that a device keeps between the rounds of a training job: control variates, a personal model. */
export interface JobMemory {
  /** Returns its path; null if there is none. */
  find(): Promise<string | null>
  /** Moves a finished file there, and deletes the oldest jobs' files. */
  keep(file: string): Promise<void>
  /** Renames a file that cannot be read, and returns its new path. */
  setAside(): Promise<string>
}

export const openJobMemory = (folder: string, jobId: string): JobMemory => {
  // Used as a file name.
  const path = join(folder, jobId.replace(/[^\w-]/g, ''))
  return {
    find: () =>
      stat(path).then(
        () => path,
        () => null,
      ),
    keep: async (file) => {
      await makeFolder(folder, 0o700)
      await renameDurably(file, path)
      // Without it: while the clock is behind, as after a boot of a device without a battery, it seems to be the oldest.
      const others = (await readdir(folder)).filter((name) => name !== basename(path))
      if (others.length < JOBS_KEPT) return
      const aged = await Promise.all(
        others.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })),
      )
      const old = aged.sort((a, b) => b.at - a.at).slice(JOBS_KEPT - 1)
      await Promise.all(old.map(({ name }) => rm(join(folder, name), { force: true })))
    },
    setAside: async () => {
      await rename(path, `${path}.damaged`)
      return `${path}.damaged`
    },
  }
}
