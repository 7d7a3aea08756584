import { type Static, type TSchema, Type } from 'typebox'
import { Body, Count, Matching, Nullable, OneOf, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { MAX_DEVICES } from '../../../secure-aggregation/settings.ts'
import { examples } from '../training.examples.ts'

const hex = (bytes: number, description: string) =>
  Matching('^[0-9a-f]*$', `${2 * bytes} lowercase hex digits`, {
    minLength: 2 * bytes,
    maxLength: 2 * bytes,
    description,
  })

/** Keys are the devices' internal ids. */
const byDevice = <T extends TSchema>(value: T, description?: string) =>
  Type.Record(Type.String(), value, { maxProperties: MAX_DEVICES, ...(description !== undefined && { description }) })

const Keys = Body('SecureKeys', "A device's public keys", examples.secureKeys, {
  encryption_key: hex(32, 'X25519 public key with which others encrypt shares for this device'),
  masking_key: hex(32, 'X25519 public key for agreeing on masks with other devices'),
})

export const KeysBody = Keys

export const SharesBody = Body('SecureShares', "A device's encrypted shares for the others", examples.secureShares, {
  seed_commitment: hex(32, "HKDF of the self mask's seed"),
  sealed: byDevice(hex(106, 'Nonce, two encrypted shares, tag')),
})

export const UnmaskBody = Body(
  'SecureUnmasking',
  'Shares that remove the masks from the sum',
  examples.secureUnmasking,
  {
    self_masks: byDevice(hex(33, "Share of the self mask's seed, for each device that submitted")),
    masking_keys: byDevice(hex(33, 'Share of the masking key, for each device that sent shares but did not submit')),
  },
)

/** The settings in a request to start a round or a job. */
export const SecureAggregation = Type.Object(
  {
    threshold: Type.Optional(
      Type.Integer({
        minimum: 2,
        maximum: MAX_DEVICES,
        description:
          'Devices that must complete the round: more than half of the selected devices, and at least min_devices; default: two thirds, ' +
          'rounded up, and at least min_devices',
      }),
    ),
    range: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 2 ** 20,
        description: 'Maximum change of a model weight; default: 8',
      }),
    ),
    max_weight: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description:
          "An update's weight is its number of samples, capped at this value; 1, the default, weights all devices equally",
      }),
    ),
  },
  {
    title: 'SecureAggregation',
    description: 'The service learns the sum of the updates and nothing about any single one',
  },
)

/** The settings that a request's body asks for; null if it has none. */
export const settingsOf = (requested: Static<typeof SecureAggregation> | undefined) =>
  requested === undefined
    ? null
    : { threshold: requested.threshold, range: requested.range, maxWeight: requested.max_weight }

/** The inverse of `settingsOf`. */
export const settingsIn = (settings: {
  readonly threshold?: number | undefined
  readonly range?: number | undefined
  readonly maxWeight?: number | undefined
}) => ({
  ...(settings.threshold === undefined ? {} : { threshold: settings.threshold }),
  ...(settings.range === undefined ? {} : { range: settings.range }),
  ...(settings.maxWeight === undefined ? {} : { max_weight: settings.maxWeight }),
})

export const SecureSettings = Part('SecureSettings', 'The settings of a secure round', {
  devices: Count,
  threshold: Count,
  range: Type.Number(),
  max_weight: Count,
})

export const SecureState = Body('SecureState', 'The state of a secure round for a device', examples.secureState, {
  round_id: Uuid,
  status: OneOf(['advertising', 'sharing', 'masking', 'unmasking', 'done', 'failed']),
  reason: Nullable(Type.String()),
  deadline_at: Timestamp,
  settings: SecureSettings,
  device_id: Nullable(Type.String({ description: "The caller's name in the protocol: its internal id" })),
  counted: Type.Boolean({
    description: 'Whether the current step includes this device; while advertising, true for any device',
  }),
  answered: Type.Boolean({ description: 'Whether this device has sent its message for the current step' }),
  roster: Nullable(byDevice(Keys, 'The public keys of the devices in the round; only while sharing, else null')),
  shares: Nullable(
    byDevice(
      hex(106, 'Nonce, two encrypted shares, tag'),
      'The encrypted shares from each other device for this one; only while masking, else null',
    ),
  ),
  delivered: Nullable(
    Type.Array(Type.String(), {
      description: 'The devices whose masked updates are in the sum; only while unmasking, else null',
    }),
  ),
})

export const SecureStateQuery = Type.Object({
  wait_seconds: Type.Integer({ minimum: 0, maximum: 55, default: 0, description: 'How long the response may be held' }),
  known_status: Type.Optional(
    Type.String({ description: 'The status that the caller knows; the response is held until it changes' }),
  ),
})

export const RoundParams = Type.Object({ round_id: Type.String() })
