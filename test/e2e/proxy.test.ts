import { writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../databases.ts'
import { startWorld } from '../world.ts'
import { runBuilt } from './built-svc.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** Starts an HTTP proxy that resolves every host to this machine, and records the requests. */
const startProxy = async () => {
  const requests: string[] = []
  const proxy = createServer((requested, response) => {
    const { method = '', headers } = requested
    const url = new URL(requested.url ?? '')
    requests.push(`${method} ${url.pathname} ${headers['proxy-authorization']}`)
    const onward = request(
      { host: '127.0.0.1', port: url.port, path: url.pathname + url.search, method, headers },
      (answered) => {
        response.writeHead(answered.statusCode!, answered.headers)
        answered.pipe(response)
      },
    )
    requested.pipe(onward)
  })
  proxy.on('connect', ({ url = '', headers }, client) => {
    requests.push(`CONNECT ${headers['proxy-authorization']}`)
    const onward = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      client.pipe(onward).pipe(client)
    })
    for (const socket of [client, onward]) socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return { address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`, requests }
}

const TOKEN = `Basic ${Buffer.from('user:p@ss').toString('base64')}`

it.each([
  ['http', null],
  ['https', { cert: fixture('first.pem'), key: fixture('first.key') }],
] as const)('svc reaches a service through the proxy in its environment (%s)', async (scheme, certificate) => {
  const world = await startWorld({ config: { enrollment: 'token', certificate } })
  const proxy = await startProxy()
  const folder = await emptyFolder()
  await writeFile(join(folder, 'net.onnx'), 'weights')
  const { port } = new URL(world.baseUrl)
  const svc = (argv: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    runBuilt(argv, {
      SERVICE_HOME: folder,
      SERVICE_API_KEY: world.service.firstAdminKey!,
      SERVICE_API_BASE: `${scheme}://fleet.invalid:${port}`,
      NODE_TLS_REJECT_UNAUTHORIZED: '0',
      [`${scheme.toUpperCase()}_PROXY`]: `http://user:p%40ss@${proxy.address}`,
      ...env,
    })

  const pushed = await svc(['push', join(folder, 'net.onnx'), '-v', '1.0.0'])
  expect(pushed, pushed.stderr).toMatchObject({ exitCode: 0 })
  expect(await svc(['keys', 'list', '--json'])).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining('first admin key'),
  })
  expect(proxy.requests.length).toBeGreaterThanOrEqual(2)
  expect(proxy.requests.filter((line) => !line.endsWith(TOKEN))).toEqual([])
  if (scheme === 'http') expect(proxy.requests).toContainEqual(expect.stringContaining('POST /api/v1/models/'))

  // Neither the hosts in NO_PROXY nor this machine are reached through the proxy.
  const requested = proxy.requests.length
  expect(await svc(['keys', 'list'], { NO_PROXY: 'invalid' })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('fleet.invalid'),
  })
  const local = { SERVICE_API_BASE: `${scheme}://127.0.0.1:${port}` }
  expect(await svc(['keys', 'list'], local)).toMatchObject({ exitCode: 0 })
  expect(proxy.requests).toHaveLength(requested)

  // With and without a scheme.
  const name = `${scheme.toUpperCase()}_PROXY`
  expect(await svc(['keys', 'list'], { [name]: proxy.address })).toMatchObject({ exitCode: 0 })
  const away = await svc(['keys', 'list'], { [name]: '127.0.0.1:1' })
  expect(away).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(
      `svc: Cannot reach ${scheme}://fleet.invalid:${port} through the proxy 127.0.0.1:1 (connection refused).\nCheck HTTPS_PROXY`,
    ),
  })
  for (const wrong of ['socks5://127.0.0.1:1', `http://user:100%@${proxy.address}`]) {
    expect(await svc(['keys', 'list'], { [name]: wrong })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(
        `svc: ${name} is not the address of an HTTP proxy. Set it to one like http://proxy.example.org:3128, with`,
      ),
    })
  }
})
