import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { eachDatabase, emptyFolder } from '../../../../test/databases.ts'
import type { BlobStore } from '../../../platform/blobs/blob-store.ts'
import { openFolderStore } from '../../../platform/blobs/folder-store.ts'
import type { Database } from '../../../platform/db/open.ts'
import { createFilesService } from './files.service.ts'

const MINUTE = 60_000
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A gate that stops `pass` until the test opens it; `reached` resolves at the first `pass`. */
const createGate = () => {
  let arrive = (): void => undefined
  let open = (): void => undefined
  const reached = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const pass = (): Promise<void> => {
    arrive()
    return opened
  }
  return { reached, pass, open: () => open() }
}

/** Files in a real folder and a real database, with a clock that the test controls. */
const begin = async (database: Database) => {
  const folder = await openFolderStore(await emptyFolder())
  let time = Date.UTC(2026, 0, 1)
  const now = () => new Date(time)
  const serve = (blobs: BlobStore) => createFilesService({ database, blobs, now })
  const stage = (text: string) => folder.stage(Readable.from([Buffer.from(text)]), { maxBytes: 1000 })
  const files = serve(folder)
  return {
    files,
    folder,
    serve,
    stage,
    keep: async (text: string) => files.keep(await stage(text)),
    pass: (minutes: number) => {
      time += minutes * MINUTE
    },
  }
}

eachDatabase('files', (open) => {
  it('without references are kept for an hour after they were last stored, then removed', async () => {
    const { files, folder, keep, pass } = await begin(await open())
    await keep('old')
    pass(30)
    await keep('young')
    await keep('old')
    pass(60)
    await keep('young')
    expect(await files.collectGarbage()).toBe(0)
    pass(1)
    expect(await files.collectGarbage()).toBe(1)
    expect([await folder.has(sha256('old')), await folder.has(sha256('young'))]).toEqual([false, true])
  })

  it("that another process removed are dropped from this one's copies", async () => {
    const { folder, serve, keep, pass } = await begin(await open())
    await keep('stored')
    let dropped: readonly string[] = []
    const store: BlobStore = {
      ...folder,
      dropCopies: async (unstored) => {
        dropped = await unstored([sha256('stored'), sha256('removed')])
      },
    }
    pass(1)
    await serve(store).collectGarbage()
    expect(dropped).toEqual([sha256('removed')])
  })

  it('are all collected in one run, no matter how many there are', async () => {
    const { files, folder, keep, pass } = await begin(await open())
    const contents = Array.from({ length: 110 }, (_, n) => `file ${n}`)
    for (const text of contents) await keep(text)
    pass(61)
    expect(await files.collectGarbage()).toBe(110)
    expect(await Promise.all(contents.map((text) => folder.has(sha256(text))))).not.toContain(true)
    expect(await files.collectGarbage()).toBe(0)
  })

  it('that are stored again while the collector is about to remove them exist afterwards', async () => {
    const { files, folder, serve, stage, keep, pass } = await begin(await open())
    await keep('same')
    pass(61)
    const gate = createGate()
    const collector = serve({
      ...folder,
      remove: async (hash) => {
        await gate.pass()
        await folder.remove(hash)
      },
    })
    const collecting = collector.collectGarbage()
    await gate.reached
    let kept = false
    const keeping = stage('same')
      .then((staged) => files.keep(staged))
      .then(() => {
        kept = true
      })
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(kept).toBe(false)
    gate.open()
    expect(await collecting).toBe(1)
    await keeping
    expect(await folder.has(sha256('same'))).toBe(true)
    expect(await files.collectGarbage()).toBe(0)
    expect(await folder.has(sha256('same'))).toBe(true)
  })

  it('that are stored again are spared by a collector that runs before they have moved into place', async () => {
    const { files, folder, stage, keep, pass } = await begin(await open())
    await keep('same')
    pass(61)
    const gate = createGate()
    const staged = await stage('same')
    const keeping = files.keep({
      ...staged,
      keep: async () => {
        await gate.pass()
        await staged.keep()
      },
    })
    await gate.reached
    expect(await files.collectGarbage()).toBe(0)
    expect(await folder.has(sha256('same'))).toBe(true)
    gate.open()
    await keeping
    expect(await folder.has(sha256('same'))).toBe(true)
  })
})
