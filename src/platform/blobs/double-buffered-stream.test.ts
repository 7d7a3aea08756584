import { randomBytes } from 'node:crypto'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DoubleBufferedStream } from './double-buffered-stream.ts'

const CHUNK = 1000
const BYTES = randomBytes(10 * CHUNK + 7)

let root: string
let path: string

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'double-buffered-'))
  path = join(root, 'file')
  await writeFile(path, BYTES)
})

afterAll(() => rm(root, { recursive: true, force: true }))

test('a slow destination that emits drain before it has written gets every byte', async () => {
  const taken: Buffer[] = []
  let underWay = 0
  let most = 0
  const slow = new Writable({
    highWaterMark: 1,
    write: (chunk: Buffer, _encoding, done) => {
      underWay++
      most = Math.max(most, underWay)
      setImmediate(() => slow.emit('drain'))
      // Copied when written, not when received: reusing a buffer too early would show.
      void sleep(5).then(() => {
        taken.push(Buffer.from(chunk))
        underWay--
        done()
      })
    },
  })
  const finished = new Promise((resolve) => slow.on('finish', resolve))
  new DoubleBufferedStream(await open(path), CHUNK, { start: 0, end: BYTES.length - 1 }).pipe(slow)
  await finished
  expect(Buffer.concat(taken).equals(BYTES)).toBe(true)
  expect(most).toBe(1)
})

test('the file is closed if the destination closes without calling back', async () => {
  const handle = await open(path)
  const deaf = new Writable({ highWaterMark: 1, write: () => undefined })
  const chunks = new DoubleBufferedStream(handle, CHUNK, { start: 0, end: BYTES.length - 1 })
  const closed = new Promise((resolve) => chunks.on('close', resolve))
  chunks.pipe(deaf)
  await sleep(10)
  deaf.destroy()
  await closed
  expect(handle.fd).toBe(-1)
})
