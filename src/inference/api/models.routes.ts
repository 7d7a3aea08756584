import type { App } from '../../platform/http/app.ts'
import { type AvailableModels, type ListedModel, modelNotFound } from './available-models.ts'
import { AUTO } from './chat-run.ts'

/** GET /v1/models and /v1/models/{model}; names may contain slashes, encoded or not. */
export const modelRoutes = (app: App, available: AvailableModels, routes: boolean): void => {
  const listed = (): ListedModel[] => {
    const models = available.list()
    const created = models.reduce((latest, model) => Math.max(latest, model.created), 0)
    return routes ? [...models, { name: AUTO, created }] : [...models]
  }

  const present = ({ name, created }: ListedModel) => {
    const contextTokens = available.loaded().find(({ model }) => model.name === name)?.model.contextTokens ?? 0
    return {
      id: name,
      object: 'model',
      created,
      owned_by: 'local',
      // vLLM's name for the context length, which agents read. It is known once the model is loaded.
      ...(contextTokens > 0 && { max_model_len: contextTokens }),
    }
  }

  app.get('/v1/models', async () => ({ object: 'list', data: listed().map(present) }))

  app.get<{ Params: { '*': string } }>('/v1/models/*', async ({ params: { '*': name } }) => {
    const models = listed()
    const found = models.find((model) => model.name === name)
    if (found === undefined)
      throw modelNotFound(
        name,
        models.map((model) => model.name),
      )
    return present(found)
  })
}
