import { Type } from 'typebox'
import { Body, Count, Nullable, OneOf, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../operations.examples.ts'

export const Health = Body('Health', 'The service is running', examples.health, {
  status: Type.String(),
  version: Type.String(),
  timestamp: Timestamp,
})

export const SystemStatus = Body('Status', 'The number of devices and models, and the latest round', examples.status, {
  status: OneOf(['operational', 'degraded', 'maintenance']),
  active_devices: Count,
  total_devices: Count,
  current_round_number: Nullable(Type.Integer()),
  current_round_status: Nullable(OneOf(['pending', 'active', 'aggregating', 'completed', 'failed'])),
  total_models: Count,
  timestamp: Timestamp,
})
