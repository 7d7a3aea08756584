import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { downloadFile } from './download-file.ts'
import { openFileSink } from './file-sink.ts'
import type { RemoteFile } from './remote-file.ts'

const BYTES = randomBytes(100_000)

/** Starts a server that sends half of a file, and the rest of each response when the test requests it. */
const startHost = async () => {
  const waiting: ServerResponse[] = []
  const server = createServer((request, response) => {
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
    response.writeHead(start > 0 ? 206 : 200, { 'content-range': `bytes ${start}-99999/100000` })
    if (start === 0) response.write(BYTES.subarray(0, 50_000))
    waiting.push(response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const remote: RemoteFile = {
    label: 'hf:org/tiny:tiny.gguf',
    url: new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/tiny.gguf`),
    ownHeaders: async () => ({}),
    etag: null,
    size: BYTES.length,
    digest: { algorithm: 'sha256', hex: createHash('sha256').update(BYTES).digest('hex') },
    refusal: async (response) => new Error(String(response.status)),
  }
  return { remote, waiting, finish: () => waiting.shift()!.end(BYTES.subarray(50_000)) }
}

const start = async () => {
  const host = await startHost()
  const folder = await emptyFolder()
  const download = (name = 'tiny.gguf', signal = new AbortController().signal, progress?: (received: number) => void) =>
    downloadFile(host.remote, join(folder, name), { signal, ...(progress && { progress }) })
  return { ...host, folder, download }
}

it("a second run that downloads the same file is refused, and the first run's verified file is unchanged", async () => {
  const { folder, waiting, finish, download } = await start()
  let arrived = 0
  const first = download('tiny.gguf', undefined, (received) => {
    arrived = received
  })
  await expect.poll(() => arrived).toBe(50_000)
  await expect(download()).rejects.toMatchObject({
    name: 'TransferError',
    message: `Another run is downloading hf:org/tiny:tiny.gguf (process ${process.pid} on ${hostname()}).`,
    advice: 'Wait for it, or stop it. Then run this again.',
  })
  // Under another name it is a different file.
  const other = download('copy.gguf')
  await expect.poll(() => waiting.length).toBe(2)
  finish()
  finish()
  expect([await first, await other]).toEqual([{ bytes: 100_000 }, { bytes: 100_000 }])
  expect((await readFile(join(folder, 'tiny.gguf'))).equals(BYTES)).toBe(true)
  expect((await readdir(folder)).sort()).toEqual(['copy.gguf', 'tiny.gguf'])
})

it.skipIf(!existsSync('/dev/full'))('an error of a full disk names the file (/dev/full)', async () => {
  const sink = await openFileSink('/dev/full')
  onTestFinished(() => sink.close())
  await expect(sink.append(BYTES)).rejects.toMatchObject({ code: 'ENOSPC', path: '/dev/full' })
})

it('a stopped download is resumed by the next run', async () => {
  const { folder, waiting, finish, download } = await start()
  const stop = new AbortController()
  const stopped = download('tiny.gguf', stop.signal, () => stop.abort(new Error('stopped')))
  await expect(stopped).rejects.toThrow('stopped')
  expect((await readdir(folder)).map((name) => name.split('.').at(-1))).toEqual(['part'])
  waiting.length = 0
  const next = download()
  await expect.poll(() => waiting.length).toBe(1)
  expect(waiting[0]!.statusCode).toBe(206)
  finish()
  expect(await next).toEqual({ bytes: 100_000 })
})

it('a refusal that never ends is given up, with its connection', { timeout: 30_000 }, async () => {
  const { remote } = await startHost()
  const server = createServer((_, response) => {
    response.writeHead(503, { 'content-type': 'application/json' }).write('{"error":')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const closed = new Promise((resolve) => server.once('connection', (socket) => socket.once('close', resolve)))
  const url = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/tiny.gguf`)
  const { signal } = new AbortController()
  await expect(
    downloadFile({ ...remote, url }, join(await emptyFolder(), 'tiny.gguf'), { signal, tries: 1 }),
  ).rejects.toThrow('returned 503')
  await closed
})

it('the lock of a dead process is taken over, and that of a process elsewhere once it is no longer renewed', async () => {
  const { folder, finish, waiting, download } = await start()
  const stop = new AbortController()
  await download('tiny.gguf', stop.signal, () => stop.abort(new Error('stopped'))).catch(() => undefined)
  const lock = join(folder, `${(await readdir(folder))[0]}.lock`)
  await writeFile(lock, `1 ${hostname()} of-a-process-that-runs`)
  await expect(download()).rejects.toThrow('Another run is downloading hf:org/tiny:tiny.gguf (process 1 on ')
  await writeFile(lock, '1 elsewhere.example token')
  await expect(download()).rejects.toThrow('(process 1 on elsewhere.example)')

  const past = new Date(Date.now() - 121_000)
  await writeFile(lock, `1 ${hostname()} of-a-process-that-is-stopped`)
  await utimes(lock, past, past)
  await expect(download()).rejects.toThrow('Another run is downloading hf:org/tiny:tiny.gguf (process 1 on ')
  const left = [
    ['1 elsewhere.example token', past],
    // No process id is this high.
    [`99999999 ${hostname()} token`, new Date()],
    [`${process.pid} ${hostname()} of-an-earlier-process-with-this-number`, new Date()],
    ['', past],
  ] as const
  for (const [index, [text, changed]] of left.entries()) {
    await writeFile(lock, text)
    await utimes(lock, changed, changed)
    waiting.length = 0
    const next = download()
    await expect.poll(() => waiting.length, { message: `lock ${index}` }).toBe(1)
    finish()
    expect(await next).toEqual({ bytes: 100_000 })
    expect(await readdir(folder)).toEqual(['tiny.gguf'])
  }
})
