import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, createClient, type paths, unwrap } from '../client/client.ts'

export type Job = paths['/api/v1/training/jobs/{job_id}']['get']['responses']['200']['content']['application/json']
export type Round = Job['history'][number]

/** The operator's actions in a training: add a model to the catalog, train it, fetch results. */
export const createOperator = (baseUrl: string, apiKey: string) => {
  const api: ApiClient = createClient({ baseUrl, apiKey })
  return {
    /** Creates a model named `name` with `file` as its first version, and returns its id. */
    async addModel(name: string, file: Uint8Array<ArrayBuffer>): Promise<string> {
      const model = await unwrap(
        api.POST('/api/v1/models', { body: { name, framework: 'pytorch', is_baseline: true } }),
      )
      const form = new FormData()
      form.set('file', new Blob([file]), `${name}.safetensors`)
      const response = await fetch(`${baseUrl}/api/v1/models/${model.id}/versions/upload`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body: form,
      })
      if (!response.ok) throw new Error(`The upload was refused: ${await response.text()}`)
      return model.id
    },

    /** Returns the job's id. */
    async startJob(
      model: string,
      devices: number,
      rounds: number,
      hyperparameters: Record<string, unknown>,
    ): Promise<string> {
      const body = { name: 'demo', model, rounds, min_devices: devices, target_devices: devices, hyperparameters }
      return (await unwrap(api.POST('/api/v1/training/jobs', { body }))).id
    },

    /** Waits for the end of the job. `onEnded` gets each finished round, in order; `onProgress` gets the running one. */
    async ended(
      jobId: string,
      onEnded: (round: Round) => void | Promise<void>,
      onProgress: (round: Round) => void,
    ): Promise<Job> {
      const path = { job_id: jobId }
      const seen = new Set<string>()
      for (;;) {
        const job = await unwrap(api.GET('/api/v1/training/jobs/{job_id}', { params: { path } }))
        for (const round of job.history.filter(({ round_id }) => !seen.has(round_id))) {
          if (round.ended_at === null) onProgress(round)
          else {
            seen.add(round.round_id)
            await onEnded(round)
          }
        }
        if (job.status === 'completed') return job
        if (job.ended_at !== null) throw new Error(`The job ${job.status}: ${job.reason ?? job.ended_by}`)
        await sleep(100)
      }
    },

    async download(modelId: string): Promise<Uint8Array<ArrayBuffer>> {
      const { data, error } = await api.GET('/api/v1/models/{model_id}/versions/{version}/download', {
        params: { path: { model_id: modelId, version: '1' } },
        parseAs: 'arrayBuffer',
      })
      if (!(data instanceof ArrayBuffer)) throw new Error(`The download was refused: ${JSON.stringify(error)}`)
      return new Uint8Array(data)
    },
  }
}
