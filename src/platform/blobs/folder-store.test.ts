import { fork } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { watchHeldMemory } from '../../../test/held-memory.ts'
import { badRequest } from '../../domain/errors.ts'
import { type BlobStore, blobPath } from './blob-store.ts'
import { openFolderStore } from './folder-store.ts'
import { STORE_CONTRACT } from './store-contract.fixture.ts'

let root: string
let blobs: BlobStore

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'blobs-'))
  blobs = await openFolderStore(root)
})

afterEach(async () => {
  await blobs.close()
  await rm(root, { recursive: true, force: true })
})

const roomy = { maxBytes: 1 << 30 }
const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')
const source = (...chunks: (string | Uint8Array)[]): Readable => Readable.from(chunks.map((c) => Buffer.from(c)))
const inStaging = (): Promise<string[]> => readdir(join(root, 'staging'))

const text = async (stream: Readable): Promise<string> => Buffer.concat(await stream.toArray()).toString()

const keep = async (content: string): Promise<string> => {
  const staged = await blobs.stage(source(content), roomy)
  await staged.keep()
  return staged.sha256
}

test.each(STORE_CONTRACT)('%s', (_name, check) => check(blobs))

test('a staged file is hashed and measured, and is not in the store until it is kept', async () => {
  const staged = await blobs.stage(source('hello ', 'world'), roomy)
  expect(staged).toMatchObject({ sha256: sha256('hello world'), size: 11 })
  expect(await readFile(staged.path, 'utf8')).toBe('hello world')
  expect(await blobs.has(staged.sha256)).toBe(false)

  await staged.keep()
  expect(await blobs.has(staged.sha256)).toBe(true)
  expect(await readFile(join(root, blobPath(staged.sha256)), 'utf8')).toBe('hello world')
  expect(await inStaging()).toEqual([])
})

test('keeping the same bytes twice leaves one file, and repairs a corrupted copy', async () => {
  const hash = await keep('same')
  await writeFile(join(root, blobPath(hash)), 'rot!')
  await keep('same')
  expect(await readdir(join(root, 'sha256', hash.slice(0, 2)))).toEqual([hash])
  expect(await text(await blobs.read(hash))).toBe('same')
})

test('a discarded file leaves nothing behind', async () => {
  const staged = await blobs.stage(source('never mind'), roomy)
  await staged.discard()
  expect(await inStaging()).toEqual([])
  expect(await blobs.has(staged.sha256)).toBe(false)
})

test('a file of exactly the limit is accepted and one byte more is refused, naming the limit and the setting', async () => {
  const exact = await blobs.stage(source('12345', '67890'), { maxBytes: 10 })
  await exact.discard()
  await expect(blobs.stage(source('12345', '678901'), { maxBytes: 10 })).rejects.toEqual(
    badRequest(
      'The file is larger than the 10 bytes that this server accepts. ' +
        'Send a smaller file, or start the server with a higher SERVICE_MAX_UPLOAD_BYTES.',
    ),
  )
  expect(await inStaging()).toEqual([])
})

test('the limit stops a source that never ends', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(64 * 1024)
  }
  await expect(blobs.stage(endless(), { maxBytes: 1 << 20 })).rejects.toThrow('larger than the 1048576 bytes')
  expect(await inStaging()).toEqual([])
})

test('a source that fails, at once or halfway, leaves nothing behind', async () => {
  async function* failing(chunks: number): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < chunks; i++) yield Buffer.alloc(300 * 1024)
    throw new Error('the client went away')
  }
  for (const chunks of [0, 1, 5]) {
    await expect(blobs.stage(failing(chunks), roomy)).rejects.toThrow('the client went away')
  }
  expect(await inStaging()).toEqual([])
})

test('a range is read with both ends inclusive', async () => {
  const hash = await keep('0123456789')
  expect(await text(await blobs.read(hash, { start: 2, end: 4 }))).toBe('234')
  expect(await text(await blobs.read(hash, { start: 9, end: 9 }))).toBe('9')
})

test.each(['kept', 'reused'] as const)(
  'a file of several chunks is written, and read whole and in part (%s)',
  async (mode) => {
    const bytes = randomBytes(700_000)
    const pieces = Array.from({ length: 14 }, (_, n) => bytes.subarray(n * 50_000, (n + 1) * 50_000))
    const staged = await blobs.stage(source(...pieces), roomy)
    expect(staged).toMatchObject({ sha256: sha256(bytes), size: 700_000 })
    await staged.keep()
    const read = async (range?: { start: number; end: number }) => {
      const hash = createHash('sha256')
      for await (const chunk of await blobs.read(staged.sha256, range, mode)) hash.update(chunk)
      return hash.digest('hex')
    }
    expect(await read()).toBe(sha256(bytes))
    expect(await read({ start: 100, end: 600_000 })).toBe(sha256(bytes.subarray(100, 600_001)))
    expect(await read({ start: 699_999, end: 699_999 })).toBe(sha256(bytes.subarray(699_999)))
  },
)

test('a source that fails after many chunks leaves nothing behind', async () => {
  async function* failing(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 20; n++) yield Buffer.alloc(64 * 1024)
    throw new Error('the client went away')
  }
  await expect(blobs.stage(failing(), roomy)).rejects.toThrow('the client went away')
  expect(await inStaging()).toEqual([])
})

test('a source is closed if its file cannot be written', async () => {
  await rm(join(root, 'staging'), { recursive: true })
  let letGo = 0
  async function* watched(bytes: number): AsyncGenerator<Uint8Array> {
    try {
      for (let sent = 0; sent < bytes; sent += 1024) yield Buffer.alloc(1024)
    } finally {
      letGo++
    }
  }
  await expect(blobs.stage(watched(1024), roomy)).rejects.toMatchObject({ code: 'ENOENT' })
  await expect(blobs.stage(watched(1 << 20), roomy)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(letGo).toBe(2)
})

test('only files in the staging area are adopted', async () => {
  await writeFile(join(root, 'elsewhere'), 'x')
  await expect(blobs.adopt(join(root, 'elsewhere'))).rejects.toThrow('not a file of the staging area')
})

test('a sweep deletes files left by a dead process, but not recent files or files in use', async () => {
  const long = new Date('2020-01-01T00:00:00Z')
  const abandoned = join(root, 'staging', 'left-by-a-crash.part')
  const young = join(root, 'staging', 'young.part')
  const mine = await blobs.stage(source('waiting for a decision'), roomy)
  await writeFile(abandoned, 'x')
  await writeFile(young, 'x')
  await utimes(abandoned, long, long)
  await utimes(mine.path, long, long)

  expect(await blobs.sweep(new Date('2021-01-01T00:00:00Z'))).toBe(1)
  expect((await inStaging()).sort()).toEqual([mine.path.split(/[\\/]/).at(-1), 'young.part'].sort())
  await mine.keep()
  expect(await blobs.has(mine.sha256)).toBe(true)
})

test('the files of a killed process are deleted when another starts, not those of a running one', async () => {
  const script = join(root, 'other.mjs')
  const module = await builtFile('platform/blobs/folder-store.js')
  await writeFile(
    script,
    `import { openFolderStore } from ${JSON.stringify(module)}
    const blobs = await openFolderStore(${JSON.stringify(root)})
    await blobs.stage((async function* () { yield Buffer.from('unfinished') })(), { maxBytes: 100 })
    process.send('staged')
    setInterval(() => {}, 1000)`,
  )
  const other = fork(script, { execArgv: [] })
  await once(other, 'message')
  const mine = await blobs.stage(source('mine'), roomy)
  const third = await openFolderStore(root)
  await third.sweep(new Date(0))
  expect(await inStaging()).toHaveLength(2)

  other.kill('SIGKILL')
  await once(other, 'exit')
  // A store that is only read deletes nothing.
  const fourth = await openFolderStore(root)
  expect(await inStaging()).toHaveLength(2)
  await fourth.sweep(new Date(0))
  expect(await inStaging()).toEqual([basename(mine.path)])
  await third.close()
  await fourth.close()
  expect(await inStaging()).toEqual([basename(mine.path)])
  await blobs.close()
  expect(await inStaging()).toEqual([])
})

/** A file of a process, and its lock with `holder`, last renewed so many minutes ago. */
const ofProcess = async (holder: string, minutesAgo: number) => {
  const owner = randomUUID()
  const [lock, name] = [join(root, 'processes', owner), `${owner}-${randomUUID()}.part`]
  await mkdir(join(root, 'processes'), { recursive: true })
  await writeFile(lock, holder)
  await writeFile(join(root, 'staging', name), 'x')
  const renewed = (minutes: number) => {
    const at = new Date(Date.now() - minutes * 60_000)
    return utimes(lock, at, at)
  }
  await renewed(minutesAgo)
  return { name, renewed }
}

describe('processes that cannot be examined', () => {
  afterEach(() => void vi.useRealTimers())

  test('count as running until their locks were not renewed for ten minutes, whatever the clocks say', async () => {
    // In another container with this host name, and on another machine whose clock is hours behind, or ahead.
    const [here, elsewhere] = [`1 ${hostname()} ${randomUUID()} other:pid:[1]`, `1 another-machine ${randomUUID()}`]
    const all = [await ofProcess(here, 0), await ofProcess(elsewhere, 300), await ofProcess(elsewhere, -300)]
    const [{ renewed }] = all as [(typeof all)[0]]
    const names = all.map(({ name }) => name).sort()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    await blobs.scratchPath()
    // An entry of a dead process, the last in the order of names: once it is deleted, all others have been examined.
    const last = `${'f'.repeat(8)}-ffff-ffff-ffff-${'f'.repeat(12)}-last.part`
    const minutes = async (count: number) => {
      for (let passed = 0; passed < count; passed++) {
        await writeFile(join(root, 'staging', last), 'x')
        await vi.advanceTimersByTimeAsync(60_000)
        await expect.poll(inStaging, { interval: 5 }).not.toContain(last)
      }
    }
    await minutes(9)
    expect((await inStaging()).sort()).toEqual(names)
    await renewed(300)
    await minutes(1)
    expect(await inStaging()).toEqual([all[0]?.name])
    await minutes(9)
    expect(await inStaging()).toEqual([all[0]?.name])
    await minutes(1)
    expect([await inStaging(), await readdir(join(root, 'processes'))]).toEqual([[], [expect.any(String)]])
  })
})

test('a process that others took for dead has a lock again before its next file', async () => {
  await blobs.scratchPath()
  const [lock = ''] = await readdir(join(root, 'processes'))
  await rm(join(root, 'processes', lock))
  const staged = await blobs.stage(source('x'), roomy)
  expect(await readdir(join(root, 'processes'))).toEqual([lock])
  const other = await openFolderStore(root)
  await other.sweep(new Date(0))
  await other.close()
  expect(await inStaging()).toEqual([basename(staged.path)])
})

test('32 MiB are streamed without being held in memory', async () => {
  const chunk = randomBytes(64 * 1024)
  const expected = createHash('sha256')
  const memory = watchHeldMemory()
  async function* large(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < 512; i++) {
      expected.update(chunk)
      memory.passed(chunk.length)
      yield Buffer.from(chunk)
    }
  }
  const staged = await blobs.stage(large(), roomy)
  expect(staged).toMatchObject({ sha256: expected.digest('hex'), size: 32 << 20 })
  await staged.discard()
  expect(memory.peak()).toBeLessThan(24 << 20)
})
