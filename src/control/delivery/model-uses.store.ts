import { sql } from 'kysely'
import type { ModelUses } from '../catalog/models/round-models.service.ts'

/** Whatever brings versions of the model to devices, or has: its history names them. */
export const isDelivered: ModelUses = (modelId) => sql<boolean>`(
  exists (select from rollouts u where u.model_id = ${modelId})
  or exists (select from deployments u where u.model_id = ${modelId})
  or exists (select from experiment_variants u where u.model_id = ${modelId})
  or exists (select from delivery_policies u where u.model_id = ${modelId})
  or exists (select from pairings u where u.model_name = ${modelId}::text))`
