import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { openFileCache } from './file-cache.ts'
import type { ObjectStore } from './object-store.ts'
import { openS3Store } from './s3-store.ts'

const DAY = 24 * 60 * 60 * 1000

test('the cache of a process of version 1.0.0, whose name is an id too, is deleted once nobody touched it for a day', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const cache = join(folder, 'cache')
  const [running, dead] = ['b6728443-bbe1-4069-89f4-0dacd355dd09', '8e6dd7c4-c64b-497c-8e76-8b77335dca3a']
  for (const each of [running, dead]) {
    await mkdir(join(cache, each), { recursive: true })
    await writeFile(join(cache, each, 'copy'), 'x')
  }
  await utimes(join(cache, dead), new Date(), new Date(Date.now() - 2 * DAY))
  const objects = { abandonUploads: async () => undefined } as unknown as ObjectStore
  const blobs = await openS3Store(objects, { folder, cacheBytes: 1000 })
  expect(await readdir(cache)).toHaveLength(3)
  await blobs.sweep(new Date(Date.now() - DAY))
  expect(await readdir(cache)).toHaveLength(2)
  await blobs.close()
  expect(await readdir(cache)).toEqual([running])
})

test('a process whose cache others deleted, because they took it for dead, fetches its files again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const stored = join(folder, 'stored')
  let key = ''
  const objects = {
    putFile: (_key: string, { path }: { path: string }) => copyFile(path, stored),
    async fetchFile(_key: string, path: string) {
      await copyFile(stored, path)
      return { sha256: key, size: 3 }
    },
  } as unknown as ObjectStore
  const blobs = await openS3Store(objects, { folder, cacheBytes: 1000 })
  const keep = async () => {
    const staged = await blobs.stage(Readable.from([Buffer.from('abc')]), { maxBytes: 3 })
    await staged.keep()
    return staged.sha256
  }
  key = await keep()
  for (const each of ['cache', 'processes']) {
    for (const name of await readdir(join(folder, each))) await rm(join(folder, each, name), { recursive: true })
  }
  expect(await keep()).toBe(key)
  expect(await blobs.withPaths(async (pathOf) => readFile(await pathOf(key), 'utf8'))).toBe('abc')
  await blobs.close()
})

test('the release of a copy that was lost with the cache does not release the one that replaced it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const cache = await openFileCache(join(folder, 'copies'), 3, async (sha256, path) => {
    await writeFile(path, sha256)
    return { sha256, size: 3 }
  })
  const lost = await cache.pin('one')
  await rm(join(folder, 'copies'), { recursive: true })
  await cache.reset()
  const copy = await cache.pin('one')
  lost.release()
  await cache.pin('two')
  expect(await readFile(copy.path, 'utf8')).toBe('one')
  copy.release()
  await cache.pin('two')
  expect(cache.hashes()).toEqual(['two'])
  cache.close()
})
