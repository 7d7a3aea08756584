import { createHash, randomBytes } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { runInProcess } from '../in-process.fixture.ts'

const MIB = 1024 * 1024
const SIZE = 20 * MIB
/** The requests' own bytes, and what was in flight when a connection broke. */
const SLACK = 2 * MIB

/**
 * A proxy between svc and the service: counts the bytes from svc, cuts a connection after each number of bytes in `cuts`, and
 * discards everything once `isEnough` returns true.
 */
const startCounter = async (world: World, cuts: number[], isEnough: (total: number) => boolean = () => false) => {
  const service = Number(new URL(world.baseUrl).port)
  const sockets = new Set<Socket>()
  const counter = { base: '', total: 0 }
  const server = createServer((client) => {
    const onward = connect({ port: service, host: '127.0.0.1' })
    for (const socket of [client, onward]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
    let sent = 0
    let isDeaf = false
    onward.pipe(client)
    client.pipe(onward)
    client.on('data', (piece) => {
      if (isDeaf) return
      sent += piece.length
      counter.total += piece.length
      isDeaf = isEnough(counter.total)
      // Discards what is sent from now on, but still notices when the client disconnects.
      if (isDeaf) client.unpipe(onward).resume()
      if (cuts[0] === undefined || sent < cuts[0]) return
      cuts.shift()
      client.destroy()
    })
    client.on('close', () => onward.end())
    onward.on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  counter.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return counter
}

const start = async () => {
  const world = await startWorld()
  const { key } = await world.register('operator')
  const cwd = await emptyFolder()
  const bytes = randomBytes(SIZE)
  await writeFile(join(cwd, 'net.onnx'), bytes)
  const env = { SERVICE_HOME: await emptyFolder(), SERVICE_API_KEY: key }
  const push = (base: string, signal?: AbortSignal) =>
    runInProcess(['push', 'net.onnx', '-v', '1.0.0', '--json'], {
      env: { ...env, SERVICE_API_BASE: base },
      cwd,
      ...(signal && { signal }),
    })
  const stored = async () => {
    const { body } = await world.request('GET', '/api/v1/models/net', { key })
    return (body as { versions: { model_hash: string }[] }).versions.map(({ model_hash }) => model_hash)
  }
  const isQuiet = async () => {
    const names = await readdir(join(world.dataDir, 'blobs', 'partial'))
    return names.every((name) => !name.endsWith('.lock'))
  }
  return { world, push, stored, isQuiet, hash: `sha256:${createHash('sha256').update(bytes).digest('hex')}` }
}

it('resumes the push of a large file after each lost connection', async () => {
  const { world, push, stored, hash } = await start()
  const counter = await startCounter(world, [8 * MIB, 6 * MIB])
  const { exitCode, stdout, stderr } = await push(counter.base)
  expect([exitCode, stderr.match(/Trying again/g)?.length]).toEqual([0, 2])
  const shares = [...stderr.matchAll(/net\.onnx: resuming at (\d+)%\./g)].map((match) => Number(match[1]))
  expect(shares).toHaveLength(2)
  expect(shares[0]).toBeGreaterThanOrEqual(30)
  expect(shares[0]).toBeLessThanOrEqual(40)
  expect(shares[1]).toBeGreaterThanOrEqual(shares[0]! + 20)
  expect(counter.total).toBeGreaterThanOrEqual(SIZE)
  expect(counter.total).toBeLessThan(SIZE + SLACK)
  expect(JSON.parse(stdout)).toMatchObject({ model_hash: hash, model_size_bytes: SIZE, already_there: false })
  expect(await stored()).toEqual([hash])
  expect(await readdir(join(world.dataDir, 'blobs', 'partial'))).toEqual([])
})

it('a second push after Ctrl-C resumes where the first one stopped', async () => {
  const { world, push, stored, isQuiet, hash } = await start()
  const stop = new AbortController()
  // Data that svc has already written would still arrive, all of it on a busy machine.
  const counter = await startCounter(world, [], (total) => {
    if (stop.signal.aborted || total <= 12 * MIB) return false
    stop.abort()
    return true
  })
  expect((await push(counter.base, stop.signal)).exitCode).not.toBe(0)
  while (!(await isQuiet())) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(await stored()).toEqual([])
  const again = await push(counter.base)
  const share = Number(/^net\.onnx: resuming at (\d+)%\.\n$/.exec(again.stderr)?.[1])
  expect(share).toBeGreaterThanOrEqual(50)
  expect(share).toBeLessThan(100)
  expect(again.exitCode).toBe(0)
  expect(counter.total).toBeLessThan(SIZE + SLACK)
  expect(await stored()).toEqual([hash])
})
