import type { Context } from '../context.ts'
import type { Module } from '../module.ts'
import { inferenceRoutes } from './inference.routes.ts'
import { createInferenceService } from './inference.service.ts'

const create = ({ config: { inferenceUrl: url, inferenceKey: key, enrollment } }: Context) => ({
  inference: createInferenceService({ url, key, enrollment }),
})

/** Access to the inference server at SERVICE_INFERENCE_URL. */
export type Inference = ReturnType<typeof create>

export const inference: Module<Inference, object> = {
  description: 'The inference server behind the dashboard playground',
  tables: [],
  create,
  routes: (app, parts) => inferenceRoutes(app, parts.inference),
}
