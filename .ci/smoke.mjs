// Whether the built package works on the Node that runs this: the CLI, a service's start and health, and one round.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
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
  console.log(`Node ${process.version}: a round was completed.`)
} finally {
  service.kill()
  if (service.exitCode === null) await once(service, 'exit')
  rmSync(home, { recursive: true, force: true })
}
