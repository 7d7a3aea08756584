import { createHash, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { expect } from 'vitest'
import { badRequest } from '../../domain/errors.ts'
import type { BlobRange, BlobStore, Chunks } from './blob-store.ts'

const roomy = { maxBytes: 1 << 30 }
const sha256Of = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
const source = (...chunks: (string | Uint8Array)[]): Readable => Readable.from(chunks.map((c) => Buffer.from(c)))
const bytesOf = async (stream: Readable): Promise<Buffer> => Buffer.concat(await stream.toArray())

type Check = (blobs: BlobStore) => Promise<void>

const keep = async (blobs: BlobStore, content: string | Uint8Array): Promise<string> => {
  const staged = await blobs.stage(source(content), roomy)
  await staged.keep()
  return staged.sha256
}

/** The behavior required of every store, whatever the storage. */
export const STORE_CONTRACT: readonly (readonly [name: string, check: Check])[] = [
  [
    'a staged file is hashed and measured, and is not in the store until it is kept',
    async (blobs) => {
      const staged = await blobs.stage(source('hello ', 'world'), roomy)
      expect(staged).toMatchObject({ sha256: sha256Of('hello world'), size: 11 })
      expect(await readFile(staged.path, 'utf8')).toBe('hello world')
      expect(await blobs.has(staged.sha256)).toBe(false)
      await staged.keep()
      expect(await blobs.has(staged.sha256)).toBe(true)
      await staged.discard()
      expect(await blobs.has(staged.sha256)).toBe(true)
    },
  ],
  [
    'an empty file can be kept and read',
    async (blobs) => {
      const hash = await keep(blobs, '')
      expect(await bytesOf(await blobs.read(hash))).toHaveLength(0)
      await blobs.withPaths(async (pathOf) => expect(await readFile(await pathOf(hash), 'utf8')).toBe(''))
    },
  ],
  [
    'what is too large is refused',
    async (blobs) => {
      await expect(blobs.stage(source('12345', '678901'), { maxBytes: 10 })).rejects.toEqual(
        badRequest(
          'The file is larger than the 10 bytes that this server accepts. ' +
            'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
        ),
      )
    },
  ],
  [
    'a file of many chunks is read whole and in part, with both ends included, and by its path',
    async (blobs) => {
      const bytes = randomBytes(18 << 20)
      const pieces = Array.from({ length: 18 }, (_, n) => bytes.subarray(n << 20, (n + 1) << 20))
      const staged = await blobs.stage(source(...pieces), roomy)
      await staged.keep()
      const read = async (chunks: Chunks, range?: BlobRange) => {
        const hash = createHash('sha256')
        for await (const chunk of await blobs.read(staged.sha256, range, chunks)) hash.update(chunk)
        return hash.digest('hex')
      }
      for (const chunks of ['kept', 'reused'] as const) {
        expect(await read(chunks)).toBe(staged.sha256)
        expect(await read(chunks, { start: 100, end: 9_000_000 })).toBe(sha256Of(bytes.subarray(100, 9_000_001)))
        expect(await read(chunks, { start: 0, end: 0 })).toBe(sha256Of(bytes.subarray(0, 1)))
        expect(await read(chunks, { start: bytes.length - 1, end: bytes.length - 1 })).toBe(
          sha256Of(bytes.subarray(-1)),
        )
      }
      await blobs.withPaths(async (pathOf) => {
        expect(sha256Of(await readFile(await pathOf(staged.sha256)))).toBe(staged.sha256)
      })
    },
  ],
  [
    'a file that is gone is not_found when read or located, and is not has; removing it again is harmless',
    async (blobs) => {
      const hash = await keep(blobs, 'short-lived')
      expect((await bytesOf(await blobs.read(hash))).toString()).toBe('short-lived')
      await blobs.remove(hash)
      await blobs.remove(hash)
      const missing = { code: 'not_found', message: `The file sha256:${hash} is no longer in storage.` }
      await expect(blobs.read(hash)).rejects.toMatchObject(missing)
      await expect(blobs.read(hash, { start: 0, end: 1 }, 'reused')).rejects.toMatchObject(missing)
      await expect(blobs.withPaths((pathOf) => pathOf(hash))).rejects.toMatchObject(missing)
      expect(await blobs.has(hash)).toBe(false)
      await keep(blobs, 'short-lived')
      expect((await bytesOf(await blobs.read(hash))).toString()).toBe('short-lived')
    },
  ],
  [
    'copies of files that another process removed are dropped, and the others are not',
    async (blobs) => {
      const [one, other] = [await keep(blobs, 'one'), await keep(blobs, 'other')]
      for (const hash of [one, other]) await bytesOf(await blobs.read(hash, undefined, 'reused'))
      let copies: readonly string[] = []
      await blobs.dropCopies(async (hashes) => {
        copies = hashes
        return hashes.filter((hash) => hash === one)
      })
      let left: readonly string[] = []
      await blobs.dropCopies(async (hashes) => {
        left = hashes
        return []
      })
      expect(left).toEqual(copies.filter((hash) => hash !== one))
      expect([await blobs.has(one), await blobs.has(other)]).toEqual([true, true])
    },
  ],
  [
    'only 64 lower-case hex digits become a name',
    async (blobs) => {
      for (const name of ['', '../../etc/passwd', 'A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(63)}/`]) {
        await expect(blobs.read(name)).rejects.toThrow('not a sha256 in hex')
        await expect(blobs.remove(name)).rejects.toThrow('not a sha256 in hex')
        await expect(blobs.has(name)).rejects.toThrow('not a sha256 in hex')
        await expect(blobs.withPaths((pathOf) => pathOf(name))).rejects.toThrow('not a sha256 in hex')
      }
    },
  ],
  [
    'a scratch file is adopted with the hash of what was written to it',
    async (blobs) => {
      const path = await blobs.scratchPath()
      await writeFile(path, 'made by a worker')
      const staged = await blobs.adopt(path)
      expect(staged).toMatchObject({ sha256: sha256Of('made by a worker'), size: 16, path })
      await staged.keep()
      expect((await bytesOf(await blobs.read(staged.sha256))).toString()).toBe('made by a worker')
    },
  ],
  [
    'concurrent uploads of different and equal bytes all arrive',
    async (blobs) => {
      const contents = ['a', 'b', 'a', 'c', 'b', 'a']
      const hashes = await Promise.all(contents.map((content) => keep(blobs, content)))
      expect(hashes).toEqual(contents.map(sha256Of))
      for (const hash of hashes) expect(await blobs.has(hash)).toBe(true)
    },
  ],
]
