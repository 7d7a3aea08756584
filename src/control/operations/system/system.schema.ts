import { Type } from 'typebox'
import { Count, Nullable, OneOf, Timestamp } from '../../../platform/http/wire.schema.ts'

export const Health = Type.Object({ status: Type.String(), version: Type.String(), timestamp: Timestamp })

export const SystemStatus = Type.Object({
  status: OneOf(['operational', 'degraded', 'maintenance']),
  active_devices: Count,
  total_devices: Count,
  current_round_number: Nullable(Type.Integer()),
  current_round_status: Nullable(OneOf(['pending', 'active', 'aggregating', 'completed', 'failed'])),
  total_models: Count,
  timestamp: Timestamp,
})
