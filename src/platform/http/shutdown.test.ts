import { expect, test } from 'vitest'
import type { RouteConfig } from './route-config.ts'
import { buildTestServer, eventually, listen, openRaw } from './test-server.fixture.ts'

const OPEN: RouteConfig = { access: 'public' }

const start = async (shutdownDeadlineMs: number) => {
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let begun = 0
  const server = await buildTestServer(
    (app) => {
      app.get('/slow', { config: OPEN }, async () => {
        begun++
        await finished
        return { slow: 'done' }
      })
      app.get('/quick', { config: OPEN }, async () => ({ quick: 'done' }))
    },
    { shutdownDeadlineMs },
  )
  const { port } = await listen(server.app)
  return { ...server, port, finish: () => finish(), begun: () => begun }
}

const GET = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

const refuses = async (port: number): Promise<boolean> => {
  try {
    await fetch(`http://127.0.0.1:${port}/quick`)
    return false
  } catch {
    return true
  }
}

test('closing refuses new connections, drops idle ones and completes running requests', async () => {
  const { app, port, finish, begun } = await start(30_000)
  const [idle, busy] = [await openRaw(port), await openRaw(port)]
  idle.socket.write(GET('/quick'))
  await idle.until('"quick":"done"')
  busy.socket.write(GET('/slow'))
  await eventually(() => begun() === 1)

  let closed = false
  const closing = app.close().then(() => {
    closed = true
  })
  await idle.closed
  await eventually(() => refuses(port))
  expect(closed).toBe(false)

  finish()
  expect(await busy.closed).toContain('{"slow":"done"}')
  await closing
})

test('a pipelined request on a busy connection still gets a response, which announces that the connection closes', async () => {
  const { app, port, finish, begun } = await start(30_000)
  const client = await openRaw(port)
  client.socket.write(GET('/slow'))
  await eventually(() => begun() === 1)
  const closing = app.close()
  await eventually(() => refuses(port))
  client.socket.write(GET('/quick'))
  finish()
  const received = await client.closed
  expect(received).toContain('{"slow":"done"}')
  expect(received).toMatch(/connection: close\r\n[\s\S]*\{"quick":"done"\}/i)
  await closing
})

test('requests that have not finished by the deadline are cut off', async () => {
  const { app, port, begun, lines, finish } = await start(200)
  const client = await openRaw(port)
  client.socket.write(GET('/slow'))
  await eventually(() => begun() === 1)
  const closing = app.close()
  expect(await client.closed).toBe('')
  expect(lines().some((line) => line.includes('requests were still running after 200 ms'))).toBe(true)
  finish()
  await closing
})

test('a server that never listened can also be closed', async () => {
  const { app } = await buildTestServer((instance) => {
    instance.get('/quick', { config: OPEN }, async () => ({}))
  })
  expect((await app.inject('/quick')).statusCode).toBe(200)
  await app.close()
})
