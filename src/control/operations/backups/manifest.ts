import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { badRequest, ServiceError } from '../../../domain/errors.ts'
import type { BackupTarget } from './backup-target.ts'

/** A file of the database's folder, or a key: its path, and the hash of its bytes. */
export interface NamedFile {
  readonly path: string
  readonly size: number
  readonly sha256: string
}

export interface StoredBlob {
  readonly sha256: string
  readonly size: number
}

/** `embedded`: the embedded database's folder; `dump`: one file of pg_dump; `none`: a server with its own backups. */
export type DatabaseKind = 'embedded' | 'dump' | 'none'

/** The contents of a backup. Written last: without it, a backup does not exist. */
export interface Manifest {
  readonly format: 1
  readonly name: string
  /** The time of the database's state in the backup. */
  readonly created_at: string
  /** The version of the program that wrote it. */
  readonly version: string
  readonly database: {
    readonly kind: DatabaseKind
    /** Major version of PostgreSQL. */
    readonly postgres: string
    readonly rows: Readonly<Record<string, number>> | null
    readonly folders: readonly string[]
    readonly files: readonly NamedFile[]
  }
  /** Keys of the data folder. */
  readonly keys: readonly NamedFile[]
  /** Stored files. */
  readonly files: readonly StoredBlob[]
  /** Stored files that could not be read. */
  readonly unreadable: readonly { readonly sha256: string; readonly reason: string }[]
}

const FOLDER = 'backups'
const CLOCKS_DIFFER_MS = 60 * 60 * 1000

export const filePath = (sha256: string): string => `files/${sha256.slice(0, 2)}/${sha256}`
const manifestPath = (name: string): string => `${FOLDER}/${name}.json`

/** `2026-11-23T00-39-03-512Z-7d0b`: sorts by time, and is a valid file name everywhere. */
export const backupName = (at: Date, id: string): string =>
  `${at.toISOString().replaceAll(/[:.]/g, '-')}-${id.slice(0, 4)}`

const checksumOf = (body: string): string => createHash('sha256').update(body).digest('hex')

export const writeManifest = async (target: BackupTarget, manifest: Manifest): Promise<void> => {
  const body = JSON.stringify(manifest)
  await target.write(manifestPath(manifest.name), [Buffer.from(`${checksumOf(body)}\n${body}\n`)])
}

/** @throws not_found if there is none, bad_request if it is not intact */
export const readManifest = async (target: BackupTarget, name: string): Promise<Manifest> => {
  const source = await target.read(manifestPath(name))
  if (source === null) {
    const names = await listBackups(target)
    const has = names.length === 0 ? 'no backup' : `the backups ${names.slice(-10).join(', ')}`
    throw new ServiceError('not_found', `There is no backup '${name}' in ${target.url}. It has ${has}.`)
  }
  const [checksum, body = ''] = (await buffer(source)).toString().split('\n')
  if (checksum !== checksumOf(body))
    throw badRequest(`The backup '${name}' in ${target.url} is damaged: its manifest does not match its checksum.`)
  const manifest = JSON.parse(body) as Manifest
  if (manifest.format !== 1) {
    throw badRequest(`The backup '${name}' in ${target.url} has format ${manifest.format}: use a newer version.`)
  }
  return manifest
}

/** Names of the complete backups, oldest first. */
export const listBackups = async (target: BackupTarget): Promise<readonly string[]> =>
  (await target.list(FOLDER))
    .map(({ path }) => path.slice(FOLDER.length + 1))
    .filter((name) => name.endsWith('.json'))
    .map((name) => name.slice(0, -'.json'.length))
    .sort()

/** @throws not_found if there is none, bad_request if it is unclear which is the latest, because a clock was wrong */
export const latestBackup = async (target: BackupTarget): Promise<string> => {
  const names = await listBackups(target)
  const name = names.at(-1)
  if (name === undefined) throw new ServiceError('not_found', `There is no complete backup in ${target.url}.`)
  if (name > backupName(new Date(Date.now() + CLOCKS_DIFFER_MS), '')) {
    throw badRequest(
      `The backup ${name} is dated in the future: the clock of this machine is wrong, or was when the backup was made. ` +
        `Choose one with --backup: ${names.slice(-10).join(', ')}.`,
    )
  }
  return name
}

/**
 * Deletes all but the `keep` newest backups, and files that no backup needs and that are older than a day. Deletes no file
 * while the manifest of a kept backup cannot be read, because it lists the files that that backup needs.
 * @param newestName the newest backup; those with later dates were made before it, while a clock was wrong, and are deleted first
 */
export const pruneBackups = async (target: BackupTarget, keep: number, newestName: string): Promise<void> => {
  const dated = await listBackups(target)
  const names = [...dated.filter((name) => name > newestName), ...dated.filter((name) => name <= newestName)]
  for (const name of names.slice(0, -keep)) await target.remove(manifestPath(name))
  const needed = new Set<string>()
  for (const name of names.slice(-keep)) {
    for (const sha256 of neededFiles(await readManifest(target, name)).keys()) needed.add(filePath(sha256))
  }
  // A newer file may belong to a backup that another process is writing.
  const before = Date.now() - 24 * 60 * 60 * 1000
  for (const { path, modifiedAt } of await target.list('files')) {
    if (!needed.has(path) && modifiedAt.getTime() < before) await target.remove(path)
  }
}

/** Returns all files that a backup needs, each once. */
export const neededFiles = ({ database, keys, files }: Manifest): ReadonlyMap<string, number> =>
  new Map([...database.files, ...keys, ...files].map(({ sha256, size }) => [sha256, size]))
