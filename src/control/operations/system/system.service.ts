import type { Caller } from '../../../domain/access.ts'
import type { ModelsService } from '../../catalog/models/models.service.ts'
import type { DevicesService } from '../../fleet/devices/devices.service.ts'
import type { RoundsService } from '../../training/rounds/rounds.service.ts'

/** The service as a whole, as a caller may see it. */
export const createSystemService = (parts: {
  readonly devices: DevicesService
  readonly models: ModelsService
  readonly rounds: RoundsService
}) => ({
  async status(caller: Caller) {
    const [devices, models, round] = await Promise.all([
      parts.devices.census(caller),
      parts.models.count(caller),
      parts.rounds.latest(caller),
    ])
    return { devices, models, round }
  },
})

export type SystemService = ReturnType<typeof createSystemService>
