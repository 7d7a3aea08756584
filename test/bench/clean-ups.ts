import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a benchmark has started and written, undone in reverse order when it ends or fails. */
export interface CleanUps {
  add(cleanUp: () => void | Promise<void>): void
  /** A folder that is removed at the end. */
  folder(name: string): string
}

export const withCleanUps = async (work: (cleanUps: CleanUps) => Promise<void>): Promise<void> => {
  const waiting: (() => void | Promise<void>)[] = []
  const add = (cleanUp: () => void | Promise<void>): void => void waiting.push(cleanUp)
  try {
    await work({
      add,
      folder: (name) => {
        const folder = mkdtempSync(join(tmpdir(), `tributary-bench-${name}-`))
        add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
        return folder
      },
    })
  } finally {
    for (const cleanUp of waiting.reverse()) await cleanUp()
  }
}
