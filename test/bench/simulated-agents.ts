import { createHash } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FleetDevice } from './fleet.ts'

interface Given {
  readonly plan_id: string
  readonly version: string
  readonly model_hash: string
  readonly download_path: string
}
interface Answer {
  readonly status: number
  readonly bytes: Buffer
}

/** The data that survives an agent's restart. */
export interface Disk {
  version: string | null
  activations: number
}

export interface SimulatedAgent {
  readonly device: FleetDevice
  readonly disk: Disk
  /** Kills it at any point and starts it again with its disk. */
  restart(): void
  stop(): Promise<void>
}

const WAIT_SECONDS = 20

/** A device that follows its heartbeats' assignments: downloads, verifies the hash, activates, and reports each state. */
export const startAgent = (
  port: number,
  sockets: Agent,
  device: FleetDevice,
  failed: (error: unknown) => void,
): SimulatedAgent => {
  const disk: Disk = { version: null, activations: 0 }
  let life = new AbortController()
  let running = live(life.signal)

  function call(method: string, path: string, signal: AbortSignal, body?: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${device.key}`,
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      }
      const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: sockets, signal }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) }))
      })
      sent.on('error', reject)
      sent.end(text)
    })
  }

  async function apply(given: Given, signal: AbortSignal): Promise<void> {
    const report = async (state: string): Promise<void> => {
      const path = `/api/v1/devices/${device.name}/assignments/${given.plan_id}/report`
      const { status } = await call('POST', path, signal, { state, version: given.version })
      if (status !== 200) throw new Error(`a report was answered with ${status}`)
    }
    if (disk.version !== given.version) {
      await report('downloading')
      const { status, bytes } = await call('GET', given.download_path, signal)
      if (status !== 200) throw new Error(`a download was answered with ${status}`)
      await report('verifying')
      if (`sha256:${createHash('sha256').update(bytes).digest('hex')}` !== given.model_hash)
        throw new Error('wrong bytes')
      disk.version = given.version
      disk.activations++
    }
    await report('active')
  }

  async function live(signal: AbortSignal): Promise<void> {
    // Restarted agents return at different times.
    await sleep(Math.random() * 500)
    for (let known = ''; !signal.aborted; ) {
      try {
        const query = known === '' ? '' : `?wait_seconds=${WAIT_SECONDS}&known_assignments=${known}`
        const { status, bytes } = await call('PUT', `/api/v1/devices/${device.name}/heartbeat${query}`, signal)
        if (status !== 200) throw new Error(`a heartbeat was answered with ${status}: ${bytes}`)
        const told = JSON.parse(bytes.toString()) as { assignments?: Given[]; assignments_tag?: string }
        for (const given of told.assignments ?? []) await apply(given, signal)
        known = told.assignments_tag ?? 'none'
      } catch (error) {
        if (signal.aborted) return
        failed(error)
        await sleep(1000)
      }
    }
  }

  return {
    device,
    disk,
    restart() {
      life.abort()
      const before = running
      life = new AbortController()
      const { signal } = life
      running = before.then(() => live(signal))
    },
    async stop() {
      life.abort()
      await running
    },
  }
}

export const openSockets = (): Agent => new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
