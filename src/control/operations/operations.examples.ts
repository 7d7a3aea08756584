import { times } from '../story.examples.ts'

export const examples = {
  health: { status: 'healthy', version: '1.1.0', timestamp: times.reported },
  status: {
    status: 'operational',
    active_devices: 118,
    total_devices: 120,
    current_round_number: 7,
    current_round_status: 'active',
    total_models: 2,
    timestamp: times.reported,
  },
} as const
