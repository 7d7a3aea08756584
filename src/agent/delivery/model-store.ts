import { existsSync } from 'node:fs'
import { readdir, readFile, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { jsonOrNull } from '../../domain/parse-json.ts'
import { renameDurably, writeDurably } from '../../platform/files/durable-file.ts'
import { makeFolder } from '../../platform/files/make-folder.ts'
import { nullIfMissing } from '../../platform/files/missing-file.ts'
import { digestOf } from '../../platform/transfer/file-sink.ts'
import { extensionByContent } from '../weight-file-extension.ts'
import { isFolderName, type KeptVersion, type ModelState, modelStateOf } from './model-state.ts'

/**
 * A model's folder. `current.json` names the running version and the previous one. Each version is a file named by its sha256,
 * and a download in progress is `<sha256>.part`. File names contain nothing from outside except ids and digests.
 */
export interface ModelFolder {
  readonly path: string
  /** Null if nothing is stored, or something else. @throws if that cannot be read, for example with too many open files */
  load(): Promise<ModelState | null>
  save(state: ModelState): Promise<void>
  partPath(sha256: string): Promise<string>
  /** Finds the complete file with this content, which was verified when it arrived; null if it is not here. */
  find(sha256: string, sizeBytes: number): Promise<string | null>
  /** Like `find`, but verifies the file again before it is used, because it may be damaged by now; it is then deleted. */
  verify(sha256: string, sizeBytes: number): Promise<string | null>
  /** Gives a verified download its final name, and returns the name. */
  adopt(sha256: string): Promise<string>
  pathOf(version: KeptVersion | null): string | null
  /** The free space on this folder's disk. */
  freeBytes(): Promise<number>
  /** Deletes all files except those with these contents. */
  deleteUnused(keep: ReadonlySet<string>): Promise<void>
}

export interface ModelStore {
  readonly root: string
  /** Lists every model that has been delivered here. */
  names(): Promise<readonly string[]>
  /** Created on the first write. */
  folder(name: string): ModelFolder
}

const POINTER = 'current.json'

const openFolder = (path: string): ModelFolder => {
  const pointer = join(path, POINTER)
  const make = () => makeFolder(path, 0o700)
  const list = async (): Promise<string[]> => (existsSync(path) ? readdir(path) : [])
  const fileOf = async (sha256: string): Promise<string | null> =>
    (await list()).find((name) => name.startsWith(`${sha256}.`) && !name.endsWith('.part')) ?? null

  const pathOf = (version: KeptVersion | null): string | null =>
    version?.file ? join(path, version.file.fileName) : null

  const save = async (state: ModelState): Promise<void> => {
    await make()
    // `path` is for programs that read this file instead of using a hook.
    await writeDurably(pointer, `${JSON.stringify({ ...state, path: pathOf(state.current) }, null, 2)}\n`)
  }

  const find = async (sha256: string, sizeBytes: number): Promise<string | null> => {
    const name = await fileOf(sha256)
    if (name === null) return null
    // It was verified before it got its name, so anything else means that the disk is at fault, or somebody changed it.
    const state = await stat(join(path, name)).catch(() => null)
    if (state?.isFile() && state.size === sizeBytes) return name
    await rm(join(path, name), { recursive: true, force: true })
    return null
  }

  return {
    path,

    load: async () => {
      const found = jsonOrNull((await nullIfMissing(readFile(pointer, 'utf8'))) ?? '')
      const state = modelStateOf(found)
      // Missing, or damaged from outside. The running version is then unknown, and everything is downloaded again.
      if (state === null) return null
      const { path: shown } = found as { readonly path?: unknown }
      if (state.current === null || typeof shown !== 'string' || shown === pathOf(state.current)) return state
      // The folder was moved.
      const moved = { ...state, current: { ...state.current, hooked: false } }
      await save(moved).catch(() => undefined)
      return moved
    },

    save,

    partPath: async (sha256) => {
      await make()
      return join(path, `${sha256}.part`)
    },

    find,

    verify: async (sha256, sizeBytes) => {
      const name = await find(sha256, sizeBytes)
      if (name === null || (await digestOf(join(path, name), 'sha256')) === sha256) return name
      await rm(join(path, name), { force: true })
      return null
    },

    adopt: async (sha256) => {
      const part = join(path, `${sha256}.part`)
      const name = `${sha256}${extensionByContent(part)}`
      await renameDurably(part, join(path, name))
      return name
    },

    pathOf,

    freeBytes: async () => {
      const { bavail, bsize } = await statfs(path)
      return bavail * bsize
    },

    deleteUnused: async (keep) => {
      for (const name of await list()) {
        if (name === POINTER || keep.has(name.split('.')[0] ?? '')) continue
        await rm(join(path, name), { recursive: true, force: true })
      }
    },
  }
}

export const openModelStore = async (root: string): Promise<ModelStore> => {
  await makeFolder(root, 0o700)
  return {
    root,
    names: async () =>
      (await readdir(root)).filter((name) => isFolderName(name) && existsSync(join(root, name, POINTER))),
    folder: (name) => {
      if (!isFolderName(name)) throw new Error(`not the name of a model's folder: ${JSON.stringify(name)}`)
      return openFolder(join(root, name))
    },
  }
}
