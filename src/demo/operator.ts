import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, createClient, type paths, unwrap } from '../client/client.ts'

export type Round =
  paths['/api/v1/training/rounds/{round_id}/status']['get']['responses']['200']['content']['application/json']

/** What a person with a key does in a training: put a model into the catalog, start rounds, fetch results. */
export const createOperator = (baseUrl: string, apiKey: string) => {
  const api: ApiClient = createClient({ baseUrl, apiKey })
  return {
    /** A model named `name` whose first version is `file`; returns its id. */
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

    startRound: (devices: number, hyperparameters: Record<string, unknown>, globalModel: string): Promise<Round> =>
      unwrap(
        api.POST('/api/v1/training/rounds/start', {
          body: { target_devices: devices, min_devices: devices, global_model_id: globalModel, hyperparameters },
        }),
      ),

    /** The round once it has ended; `onProgress` sees it on the way. */
    async ended(roundId: string, onProgress: (round: Round) => void): Promise<Round> {
      for (;;) {
        const path = { round_id: roundId }
        const round = await unwrap(api.GET('/api/v1/training/rounds/{round_id}/status', { params: { path } }))
        if (round.status === 'completed') return round
        if (round.status === 'failed') throw new Error(`Round ${round.round_number} failed: ${round.failure_reason}`)
        onProgress(round)
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
