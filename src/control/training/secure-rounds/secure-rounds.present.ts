import type { SecureSettings } from '../../../secure-aggregation/settings.ts'
import type { SecureView } from './secure-rounds.service.ts'

/** A secure round in the API, as one device sees it. */
export const present = ({ round, deviceId, counted, answered, roster, shares }: SecureView) => ({
  round_id: round.roundId,
  status: round.status,
  reason: round.reason,
  deadline_at: round.deadlineAt.toISOString(),
  settings: presentSettings(round.settings),
  device_id: deviceId,
  counted,
  answered,
  roster:
    roster &&
    Object.fromEntries(
      Object.entries(roster).map(([device, keys]) => [
        device,
        { encryption_key: keys.encryptionKey, masking_key: keys.maskingKey },
      ]),
    ),
  shares,
  delivered: round.status === 'unmasking' ? [...round.delivered] : null,
})

/** Settings in the API. */
export const presentSettings = (settings: SecureSettings) => ({
  devices: settings.devices,
  threshold: settings.threshold,
  range: settings.range,
  max_weight: settings.maxWeight,
})
