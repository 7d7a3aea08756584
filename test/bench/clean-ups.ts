import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Undoes what a benchmark has started and written, in reverse order, when it ends, fails, or is interrupted. */
export interface CleanUps {
  add(undo: () => void | Promise<void>): void
  /** Creates a folder that is removed at the end. */
  folder(name: string): string
}

export const withCleanUps = async (work: (cleanUps: CleanUps) => Promise<void>): Promise<void> => {
  const waiting: (() => void | Promise<void>)[] = []
  const cleanUp = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await next()
  }
  const stop = (): void => void cleanUp().finally(() => process.exit(130))
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const add = (undo: () => void | Promise<void>): void => void waiting.push(undo)
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
    await cleanUp()
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}
