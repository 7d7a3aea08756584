import type { StagedBlob } from '../../../platform/blobs/blob-store.ts'
import { createBatcher } from '../../../platform/db/batch.ts'
import type { Context } from '../../context.ts'
import { type FileReferences, filesStore } from './files.store.ts'

export type { FileReferences } from './files.store.ts'

const UNWANTED_AFTER_MS = 60 * 60 * 1000
const COLLECTED_AT_ONCE = 100

/** Stores weight files, and removes those that no version, update, or round refers to anymore. */
export const createFilesService = ({ database, blobs, now }: Pick<Context, 'database' | 'blobs' | 'now'>) => {
  const references: FileReferences[] = []
  const holds: FileReferences[] = []

  const touch = createBatcher<{ readonly sha256: string; readonly size: number }, void>({
    maxBatch: 1000,
    run: async (requested) => {
      await filesStore.touch(database.sql, requested, now())
      return requested.map(() => undefined)
    },
  })

  return {
    /** Adds a condition for files that a later module refers to. Called when that module is created. */
    keepReferenced(added: FileReferences): void {
      references.push(added)
    },

    /** Adds a condition under which nothing is removed. Called when a later module is created. */
    keepAllWhile(added: FileReferences): void {
      holds.push(added)
    },

    /** False for a file that is still being stored, whose bytes may not be in place yet, and for one that is gone. */
    isReferenced: (sha256: string): Promise<boolean> => filesStore.isReferenced(database.sql, references, sha256),

    /**
     * Stores a staged file. Touches the record before the bytes move into place: a collector that is about to remove the
     * same bytes either sees the touch and leaves them, or is done before the rename brings them back.
     */
    async keep(staged: StagedBlob): Promise<void> {
      await touch(staged)
      await staged.keep()
    },

    /**
     * Removes bytes that have been unreferenced for an hour, and this process's copies of what others removed; returns the
     * number of removed files.
     */
    async collectGarbage(): Promise<number> {
      const before = new Date(now().getTime() - UNWANTED_AFTER_MS)
      await blobs.sweep(new Date(now().getTime() - 24 * UNWANTED_AFTER_MS))
      await blobs.dropCopies((hashes) => filesStore.unstored(database.sql, hashes))
      for (let removed = 0; ; ) {
        const gone = await database.transaction(async (tx) => {
          const unwanted = await filesStore.forgetUnreferenced(tx, [...references, ...holds], before, COLLECTED_AT_ONCE)
          // Before the commit that removes the records: an upload of the same bytes waits for it, and then stores them again.
          for (const sha256 of unwanted) await blobs.remove(sha256)
          return unwanted.length
        })
        removed += gone
        if (gone < COLLECTED_AT_ONCE) return removed
      }
    },
  }
}

export type FilesService = ReturnType<typeof createFilesService>
