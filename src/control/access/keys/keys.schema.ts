import { Type } from 'typebox'
import { SCOPES } from '../../../domain/access.ts'
import { Body, Nullable, OneOf, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const Scopes = Type.Array(OneOf(SCOPES, { title: 'Scope', description: 'What a key may do' }), {
  description: 'All but admin when absent',
  minItems: 1,
  uniqueItems: true,
})

export const CreateKeyBody = Body('NewKey', 'An API key to create', examples.newKey, {
  name: Type.String({ minLength: 1, maxLength: 128, description: 'What the key is for' }),
  scopes: Type.Optional(Scopes),
  org_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'For keys without an org_id' })),
  expires_in_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650, description: 'Never when absent' })),
})

const keyFields = {
  id: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: 'The first characters, to recognize the key by' }),
  scopes: Type.Array(Type.String()),
  org_id: Nullable(Type.String()),
  device_id: Nullable(Type.String({ description: 'Of the key of a device: its user-chosen id' })),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
  approved_by: Nullable(Type.String({ format: 'uuid', description: 'Key that approved the login this key came from' })),
}

export const Key = Body('Key', 'An API key without its secret', examples.key, keyFields)
export const CreatedKey = Body(
  'CreatedKey',
  'A new API key with its secret, which is shown only here',
  examples.createdKey,
  {
    ...keyFields,
    api_key: Type.String({ description: 'Shown this once; cannot be retrieved later' }),
  },
)
export const KeyList = Body('KeyList', 'API keys', examples.keyList, { keys: Type.Array(Key) })

export const KeyQuery = Type.Object({
  devices: Type.Boolean({
    default: false,
    description: 'The keys of devices, instead of those of people and programs',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }),
  offset: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 }),
})
export const KeyParams = Type.Object({ key_id: Type.String() })
