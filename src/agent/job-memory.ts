import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Jobs end without telling; so many are remembered. */
const JOBS_KEPT = 20

/** What a device keeps between the rounds of a training job, one file each: control variates, a personal model. */
export interface JobMemory {
  /** The file of this job; null when nothing was kept. */
  find(jobId: string): Promise<string | null>
  /** Moves a finished file there; the oldest jobs are forgotten. */
  keep(jobId: string, file: string): Promise<void>
}

export const openJobMemory = (folder: string): JobMemory => {
  // It becomes the name of a file.
  const pathOf = (jobId: string): string => join(folder, jobId.replace(/[^\w-]/g, ''))
  return {
    find: async (jobId) => {
      const path = pathOf(jobId)
      return stat(path).then(
        () => path,
        () => null,
      )
    },
    keep: async (jobId, file) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await rename(file, pathOf(jobId))
      const names = await readdir(folder)
      if (names.length <= JOBS_KEPT) return
      const aged = await Promise.all(
        names.map(async (name) => ({ name, at: (await stat(join(folder, name))).mtimeMs })),
      )
      const old = aged.sort((a, b) => b.at - a.at).slice(JOBS_KEPT)
      await Promise.all(old.map(({ name }) => rm(join(folder, name), { force: true })))
    },
  }
}
