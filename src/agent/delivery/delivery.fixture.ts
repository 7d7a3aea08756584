import { getEventListeners } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Organization } from '../../../test/organizations.ts'
import { formOf, type TestDevice, type World } from '../../../test/world.ts'
import type { DeliveryReport } from '../../sdk/assignment.ts'
import { createDevice } from '../../sdk/device-client.ts'
import { type DeliveriesOptions, startDeliveries } from './deliveries.ts'
import { commandHook } from './model-hook.ts'
import type { ModelState } from './model-state.ts'

export const emptyFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'delivery-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

/** Polls until the result is not null. The test's time limit ends the polling. */
export const eventually = async <T>(ask: () => Promise<T | null> | T | null): Promise<T> => {
  for (;;) {
    const response = await ask()
    if (response !== null) return response
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const post = async (
  world: World,
  key: string,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> => {
  const response = await world.request('POST', `/api/v1${path}`, { key, body })
  if (response.status >= 300)
    throw new Error(`${path} was answered with ${response.status}: ${JSON.stringify(response.body)}`)
  return response.body as Record<string, unknown>
}

export interface Unit {
  readonly folder: string
  readonly lines: string[]
  /** The reports sent to the service, in order. */
  readonly reports: (DeliveryReport & { readonly planId: string })[]
  /** The versions that started to download. */
  readonly downloads: string[]
  /** How many parts of it are waiting for the stop signal. */
  parts(): number
  /** Sends a heartbeat, and applies its response. */
  pull(): Promise<void>
  /** Simulates a power cut as far as a test can: nothing is finished. */
  stop(): Promise<void>
  /** Waits until it has logged a line with this text. */
  line(text: string): Promise<string>
  pointer(model: string): Promise<(ModelState & { readonly path: string | null }) | null>
  /** The content of the running version. */
  running(model: string): Promise<string | null>
}

export interface UnitOptions extends Partial<DeliveriesOptions> {
  readonly baseUrl?: string
  readonly folder?: string
}

/** Starts an agent's delivery part with the real service and real files. It is stopped when the test ends. */
export const startUnit = async (world: World, device: TestDevice, options: UnitOptions = {}): Promise<Unit> => {
  const folder = options.folder ?? (await emptyFolder())
  const lines: string[] = []
  const reports: (DeliveryReport & { readonly planId: string })[] = []
  const downloads: string[] = []
  const stop = new AbortController()
  const client = createDevice({
    baseUrl: options.baseUrl ?? world.baseUrl,
    deviceId: device.deviceId,
    apiKey: device.key,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        setTimeout(resolve, ms / 50)
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
  })
  const deliveries = await startDeliveries({
    modelsFolder: folder,
    apiKey: device.key,
    hook: null,
    measure: null,
    restateSeconds: 3600,
    ...options,
    device: {
      downloadVersion: (assignment, ...rest) => {
        downloads.push(assignment.version)
        return client.downloadVersion(assignment, ...rest)
      },
      reportAssignment: async (planId, report, ...rest) => {
        const response = await client.reportAssignment(planId, report, ...rest)
        reports.push({ planId, ...report })
        return response
      },
      reportedPlans: client.reportedPlans,
    },
    signal: stop.signal,
    log: (message) => lines.push(message),
  })
  const end = async (): Promise<void> => {
    stop.abort(new Error('The test is over.'))
    await deliveries.ended
  }
  onTestFinished(end)
  const pointer: Unit['pointer'] = async (model) => {
    const text = await readFile(join(folder, model, 'current.json'), 'utf8').catch(() => null)
    return text === null ? null : JSON.parse(text)
  }
  return {
    folder,
    lines,
    reports,
    downloads,
    parts: () => getEventListeners(stop.signal, 'abort').length,
    pull: async () => {
      deliveries.take(await client.heartbeat(undefined, { knownAssignments: deliveries.known() }))
    },
    stop: end,
    line: (text) => eventually(() => lines.find((line) => line.includes(text)) ?? null),
    pointer,
    running: async (model) => {
      const path = (await pointer(model))?.path ?? null
      return path === null ? null : readFileSync(path, 'utf8')
    },
  }
}

/** One device and a model 'm' with these versions: 1.0.0, 2.0.0, ... */
export const startFleet = async ({ world, key }: Organization, ...versions: readonly (string | Uint8Array)[]) => {
  const device = await world.register('edge-1')
  const { id } = await post(world, key, '/models', { name: 'm' })
  for (const content of versions) await post(world, key, '/models/m/versions/upload', formOf(content))
  const rollOut = async (version: string): Promise<string> =>
    String(
      (await post(world, key, '/models/m/rollouts', { version, rollout_percentage: 100, target_percentage: 100 }))
        .rollout_id,
    )
  const rollBack = (rolloutId: string) => post(world, key, `/models/m/rollouts/${rolloutId}/rollback`, {})
  return { world, device, key, model: String(id), rollOut, rollBack }
}

/** A hook that records its tasks in a file, refuses the given versions, and reports a metric. */
export const notingHook = (folder: string, refused: string, extra = ':') =>
  commandHook({
    command: `content() { if [ -z "$1" ]; then echo -; else cat "$1"; fi; }
      echo "$MODEL_NAME \${MODEL_VERSION:--} $(content "$MODEL_PATH") $(content "$MODEL_PREVIOUS_PATH")" >> notes
      case " ${refused} " in
        *" $MODEL_VERSION "*) echo loading >&2; echo "does not fit here" >&2; exit 3 ;;
      esac
      echo '{ "accuracy": 0.5, "name": "x" }'
      ${extra}`,
    cwd: folder,
    timeoutSeconds: 60,
    onLine: () => undefined,
  })
