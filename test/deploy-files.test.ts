import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it, onTestFinished } from 'vitest'
import { readConfig } from '../src/config.ts'
import { STATE_METRICS } from '../src/control/operations/metrics/metrics.report.ts'
import { STORAGE_UP } from '../src/control/operations/metrics/process-metrics.service.ts'
import { freePort } from './postgres-program.ts'
import { formOf, startWorld } from './world.ts'

const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const hasNginx = spawnSync('nginx', ['-v']).status === 0

it.each(['prometheus/alerts.yml', 'prometheus/alerts.test.yml', 'grafana/tributary.json'])(
  'deploy/%s names only metrics that the service has',
  (name) => {
    const text = readFileSync(`deploy/${name}`, 'utf8')
    const known = new Set([...STATE_METRICS.map((metric) => metric.name), 'tributary_database_up', STORAGE_UP.name])
    const named = text.match(/\btributary_[a-z_]+/g) ?? []
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((metric) => !known.has(metric))).toEqual([])
  },
)

it.skipIf(!hasPromtool)("the alert rules pass their tests (skipped without Prometheus' promtool)", () => {
  const output = execFileSync('promtool', ['test', 'rules', 'alerts.test.yml'], { cwd: 'deploy/prometheus' })
  expect(String(output)).toContain('SUCCESS')
})

it('each alert has a runbook', () => {
  const alerts = [...readFileSync('deploy/prometheus/alerts.yml', 'utf8').matchAll(/- alert: (\w+)/g)].map(
    ([, name]) => name,
  )
  const runbooks = [...readFileSync('docs/operations.md', 'utf8').matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  expect(alerts.length).toBeGreaterThan(5)
  expect(runbooks).toEqual(alerts)
})

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

it.skipIf(!hasSystemd)('the systemd unit is valid (skipped without systemd-analyze)', () => {
  const unit = readFileSync('deploy/systemd/tributary.service', 'utf8')
  const folder = mkdtempSync(join(inject('folders'), 'systemd-'))
  // The program that the unit starts is not installed here.
  writeFileSync(join(folder, 'tributary.service'), unit.replace(/^ExecStart=.*$/m, `ExecStart=${process.execPath}`))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', join(folder, 'tributary.service')])
  expect(String(stderr)).not.toContain('tributary.service')
  expect(status).toBe(0)
})

const HOMES = {
  'systemd/tributary.service': /^Environment=SERVICE_HOME=(.*)$/m,
  'container/Containerfile': /\bSERVICE_HOME=(\S+)/,
}

/** The data folder of a service that deploy/ installs. */
const installedDataDir = (name: keyof typeof HOMES): string =>
  readConfig({ SERVICE_HOME: HOMES[name].exec(readFileSync(`deploy/${name}`, 'utf8'))![1]! }).dataDir

it('the unit and the container have the same data folder', () => {
  expect(installedDataDir('systemd/tributary.service')).toBe(installedDataDir('container/Containerfile'))
})

it.skipIf(!hasNginx)('nginx serves the files of the service that the unit starts (skipped without nginx)', async () => {
  const world = await startWorld({ config: { downloads: 'x-accel' } })
  const folder = mkdtempSync(join(inject('folders'), 'nginx-'))
  const port = await freePort()
  const front = readFileSync('deploy/nginx/tributary.conf', 'utf8')
    .replace('127.0.0.1:8000', new URL(world.baseUrl).host)
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace(`${installedDataDir('systemd/tributary.service')}/`, `${world.dataDir}/`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const config = join(folder, 'nginx.conf')
  writeFileSync(
    config,
    `${process.getuid?.() === 0 ? 'user root;' : ''} daemon off; pid ${folder}/pid; error_log ${folder}/log;
    events {} http { access_log off; ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
    ${front} }`,
  )
  const nginx = spawn('nginx', ['-c', config, '-e', `${folder}/log`], { stdio: 'ignore' })
  const ended = once(nginx, 'exit')
  onTestFinished(async () => {
    nginx.kill()
    await ended
  })
  const { key } = await world.register('operator')
  const bytes = Buffer.from('not read by the service: '.repeat(100))
  await world.request('POST', '/api/v1/models', { key, body: { name: 'sent', framework: 'pytorch' } })
  const { status } = await world.request('POST', '/api/v1/models/sent/versions/upload', { key, body: formOf(bytes) })
  expect(status).toBe(201)
  const download = async () =>
    fetch(`http://127.0.0.1:${port}/api/v1/models/sent/versions/1/download`, {
      headers: { authorization: `Bearer ${key}` },
    }).catch(() => null)
  await expect.poll(download).not.toBeNull()
  const response = (await download())!
  expect(response.status).toBe(200)
  expect(response.headers.get('server')).toContain('nginx')
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
})

/** True if the container counts as healthy. */
const isHealthy = async (environment: Readonly<Record<string, string>>): Promise<boolean> => {
  const [, argv] = /^HEALTHCHECK [^[]*CMD (\[.*\])$/m.exec(readFileSync('deploy/container/Containerfile', 'utf8'))!
  const [, ...words] = JSON.parse(argv!) as string[]
  return promisify(execFile)(process.execPath, words, { env: environment }).then(
    () => true,
    () => false,
  )
}

it('the container is healthy while /ready returns 200, over http and https', async () => {
  const portOf = (baseUrl: string) => ({ SERVICE_PORT: new URL(baseUrl).port })
  const plain = await startWorld()
  expect(await isHealthy(portOf(plain.baseUrl))).toBe(true)

  const certificate = { cert: resolve('test/fixtures/tls/first.pem'), key: resolve('test/fixtures/tls/first.key') }
  const secure = await startWorld({ config: { certificate } })
  expect(await isHealthy({ ...portOf(secure.baseUrl), SERVICE_TLS_CERT: certificate.cert })).toBe(true)
  expect(await isHealthy(portOf(secure.baseUrl))).toBe(false)

  const stopping = createServer((_request, response) => response.writeHead(503).end()).listen(0, '127.0.0.1')
  await once(stopping, 'listening')
  const { port } = stopping.address() as AddressInfo
  expect(await isHealthy({ SERVICE_PORT: String(port) })).toBe(false)
  stopping.close()
  expect(await isHealthy({ SERVICE_PORT: String(port) })).toBe(false)
})
