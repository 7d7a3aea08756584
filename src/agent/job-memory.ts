import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Jobs end without telling; so many are remembered. */
const JOBS_KEPT = 20

/** The file that a device keeps between the rounds of one training job: control variates, a personal model. */
export interface JobMemory {
  /** Its path; null when nothing was kept. */
  find(): Promise<string | null>
  /** Moves a finished file there; the oldest jobs are forgotten. */
  keep(file: string): Promise<void>
}

export const openJobMemory = (folder: string, jobId: string): JobMemory => {
  // It becomes the name of a file.
  const path = join(folder, jobId.replace(/[^\w-]/g, ''))
  return {
    find: () =>
      stat(path).then(
        () => path,
        () => null,
      ),
    keep: async (file) => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await rename(file, path)
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
