import { Type } from 'typebox'
import { REPORT_STATES } from '../../../domain/delivery-plan.ts'
import { PAIRING_STATUSES } from '../../../domain/pairing.ts'
import { Body, Line, Nullable, OneOf, OrgId, RefWith, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { NewDeviceName, Platform } from '../../fleet/devices/devices.schema.ts'
import { examples } from '../delivery.examples.ts'

export const CreatePairingBody = Body('NewPairing', 'A pairing code to create', examples.newPairing, {
  model_name: Type.Optional(Line(255, 'The model that the device gets when it is paired')),
  model_version: Type.Optional(Line(200, 'Or an alias; default: latest')),
  platform: Type.Optional(RefWith(Platform, { description: 'Only a device of this platform may claim the code' })),
  org_id: Type.Optional(OrgId('The organization of the device; default: that of the key')),
})

const pairingFields = {
  pairing_id: Uuid,
  org_id: Nullable(Type.String()),
  status: OneOf(PAIRING_STATUSES),
  reason: Nullable(Type.String({ description: 'Why it expired or failed' })),
  model_name: Nullable(Type.String()),
  model_version: Nullable(Type.String()),
  device_id: Nullable(Type.String()),
  platform: Nullable(Platform),
  device_state: Nullable(OneOf(REPORT_STATES, { description: "The device's last report" })),
  deployment_id: Nullable(Uuid),
  created_at: Timestamp,
  expires_at: Timestamp,
}

export const Pairing = Body('Pairing', 'A pairing without its code', examples.pairing, pairingFields)
export const NewPairing = Body(
  'CreatedPairing',
  'A pairing with its code, which is shown only here',
  examples.createdPairing,
  {
    ...pairingFields,
    code: Type.String({ description: 'Shown only here; pairs one device within 5 minutes' }),
    service_url: Nullable(Type.String({ description: "The service's public address, if it has the setting" })),
  },
)

export const PairingParams = Type.Object({ pairing_id: Type.String() })

export const ClaimBody = Body('PairingClaim', 'A device that claims a pairing code', examples.pairingClaim, {
  code: Type.String({ minLength: 1, maxLength: 100 }),
  device_id: Type.Optional(
    Type.Unsafe<string>({ ...NewDeviceName, description: "May be omitted with the device's own key" }),
  ),
  platform: Type.Optional(Platform),
  device_name: Type.Optional(Line(255, "In the device's capabilities")),
})

export const Claimed = Body('ClaimedPairing', 'A claimed pairing', examples.claimedPairing, {
  ...pairingFields,
  api_key: Nullable(Type.String({ description: "The device's key, if this request registered it; not shown again" })),
})
