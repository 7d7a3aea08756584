import { setTimeout as sleep } from 'node:timers/promises'
import type { operations } from '../../../src/client/api.gen.ts'
import { createClient, unwrap } from '../../../src/client/client.ts'
import type { Device } from '../../../src/sdk/device.ts'
import { createDevice } from '../../../src/sdk/device-client.ts'
import { initialModel } from '../../../src/sdk/trainers/dense-network.ts'
import { decodeModel, encodeModel, type Model } from '../../../src/sdk/trainers/weights-codec.ts'

type JobSettings = operations['startTrainingJob']['requestBody']['content']['application/json']
export type JobDetail = operations['getTrainingJob']['responses'][200]['content']['application/json']

export interface Trainee {
  readonly name: string
  readonly device: Device
}

/** The operator of a service under test: registers devices, uploads an initial model, starts jobs, and reads them. */
export const operate = async (port: number, org: string) => {
  const baseUrl = `http://127.0.0.1:${port}`
  const register = async (name: string): Promise<{ trainee: Trainee; key: string }> => {
    const body = { device_id: name, org_id: org }
    const { api_key: key } = await unwrap(createClient({ baseUrl }).POST('/api/v1/devices/register', { body }))
    return { key, trainee: { name, device: createDevice({ baseUrl, deviceId: name, apiKey: key }) } }
  }
  const operator = await register(`${org}-operator`)
  // The operator does not train, so rounds must not wait for it.
  await operator.trainee.device.heartbeat(undefined, { status: 'inactive' })
  const client = createClient({ baseUrl, apiKey: operator.key })

  return {
    client,

    async trainees(count: number): Promise<Trainee[]> {
      const made: Trainee[] = []
      for (let index = 0; index < count; index++) made.push((await register(`${org}-${index}`)).trainee)
      return made
    },

    /** Uploads an untrained logistic regression; returns its id. */
    async beginner(shape: { readonly features: number; readonly classes: number }): Promise<string> {
      const body = { name: `beginner-${org}`, framework: 'pytorch' as const }
      const { id } = await unwrap(client.POST('/api/v1/models', { body }))
      const form = new FormData()
      const tensors = initialModel({ ...shape, hidden: [], seed: 0 })
      form.set('file', new Blob([encodeModel(tensors, new Map())]), 'model.safetensors')
      const response = await fetch(`${baseUrl}/api/v1/models/${id}/versions/upload`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operator.key}` },
        body: form,
      })
      if (!response.ok) throw new Error(`the upload was answered with ${response.status}: ${await response.text()}`)
      return id
    },

    start: async (settings: JobSettings): Promise<string> =>
      (await unwrap(client.POST('/api/v1/training/jobs', { body: { ...settings, org_id: org } }))).id,

    detail: (id: string): Promise<JobDetail> =>
      unwrap(client.GET('/api/v1/training/jobs/{job_id}', { params: { path: { job_id: id } } })),

    async result(job: JobDetail): Promise<Model> {
      const path = `${baseUrl}/api/v1/models/${job.latest_model_id}/versions/1/download`
      const response = await fetch(path, { headers: { authorization: `Bearer ${operator.key}` } })
      return decodeModel(new Uint8Array(await response.arrayBuffer()))
    },
  }
}

export type Operator = Awaited<ReturnType<typeof operate>>

/**
 * Runs a job round by round: the selected devices all do `part` at once, and no other device takes part in between, so that a
 * failed device is not replaced. Resolves with the job when it has ended.
 */
export const playRounds = async (
  operator: Operator,
  jobId: string,
  fleet: readonly Trainee[],
  part: (device: number, roundId: string, chosen: readonly number[]) => Promise<void>,
): Promise<JobDetail> => {
  const played = new Set<string>()
  for (;;) {
    const job = await operator.detail(jobId)
    if (job.ended_by !== null) return job
    const round = job.history.at(-1)
    if (round === undefined || round.status !== 'active' || played.has(round.round_id)) {
      await sleep(20)
      continue
    }
    played.add(round.round_id)
    const requested = await Promise.all(fleet.map(({ device }) => device.heartbeat()))
    const chosen = requested.flatMap(({ pendingRoundId }, index) => (pendingRoundId === round.round_id ? [index] : []))
    await Promise.all(chosen.map((index) => part(index, round.round_id, chosen)))
  }
}
