// Whether the built package works on the Node that runs this: the CLI, a service's start and health, one round, and an update that comes
// too late, which the service refuses before it has been sent.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, unwrap } from 'tributary/client'
import { createDevice, localTrainer, takePart } from 'tributary/sdk'

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}

const home = mkdtempSync(join(tmpdir(), 'tributary-smoke-'))
const port = await freePort()
const baseUrl = `http://127.0.0.1:${port}`
execFileSync(process.execPath, ['dist/cli/main.js', '--version'], { stdio: 'inherit' })
const env = { ...process.env, SERVICE_HOME: home, SERVICE_PORT: String(port), SERVICE_LOG_LEVEL: 'error' }
const service = spawn(process.execPath, ['dist/main.js'], { env, stdio: 'inherit' })
// Also when an error that nobody awaited ends this program.
process.on('exit', () => service.kill())
try {
  const device = createDevice({ baseUrl, deviceId: 'smoke' })
  const { apiKey } = await device.register()
  const client = createClient({ baseUrl, apiKey })
  await unwrap(client.GET('/api/v1/health'))
  const body = { target_devices: 1, min_devices: 1, hyperparameters: { classes: 2 } }
  const { id } = await unwrap(client.POST('/api/v1/training/rounds/start', { body }))
  await device.heartbeat()
  const train = { featureCount: 1, features: Float64Array.of(0, 1), labels: Uint32Array.of(0, 1) }
  await takePart(device, id, localTrainer({ train, heldOut: train }, { deviceId: 'smoke' }))
  let status = ''
  for (let second = 0; second < 30 && status !== 'completed'; second++) {
    status = await device.roundStatus(id)
    if (status !== 'completed') await new Promise((resolve) => setTimeout(resolve, 1000))
  }
  if (status !== 'completed') throw new Error(`The round is ${status}.`)
  const late = createDevice({ baseUrl, deviceId: 'late' })
  await late.register()
  const update = join(home, 'update.bin')
  writeFileSync(update, new Uint8Array(2 ** 23))
  const answer = await late.submit(id, await openAsBlob(update), { numSamples: 1 }).catch((error) => error.status)
  if (answer !== 409) throw new Error(`A late update was not refused with 409, but: ${JSON.stringify(answer)}`)
  console.log(`Node ${process.version}: a round was completed.`)
} finally {
  service.kill()
  if (service.exitCode === null) await once(service, 'exit')
  rmSync(home, { recursive: true, force: true })
}
