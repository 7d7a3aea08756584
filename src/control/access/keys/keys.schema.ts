import { Type } from 'typebox'
import { SCOPES } from '../../../domain/access.ts'
import { Body, Nullable, OneOf, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'
import { KEY_KINDS } from './keys.service.ts'

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
  kind: OneOf(KEY_KINDS, {
    title: 'KeyKind',
    description: "Of a program, a person, or a device; a person's ends with their account",
  }),
  device_id: Nullable(Type.String({ description: 'Of the key of a device: its user-chosen id' })),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
  approved_by: Nullable(Type.String({ format: 'uuid', description: 'Key that approved the login this key came from' })),
  person_id: Nullable(Type.String({ format: 'uuid', description: 'Whose personal key it is' })),
  created_by: Nullable(Type.String({ description: 'Id of the person or key that made it' })),
  replaces: Nullable(Type.String({ format: 'uuid', description: 'The key that it was rotated from' })),
  replaced_by: Nullable(Type.String({ format: 'uuid', description: 'The key that it was rotated to' })),
  exceeds_lifetime: Type.Boolean({
    description: "It lasts longer than the organization's key_lifetime_days; never so for keys of devices",
  }),
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

export const RotateKeyBody = Body('KeyRotation', 'How a key is rotated', examples.keyRotation, {
  overlap_hours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 720,
      description: 'How long the old key still works, and the logins that it approved; 24 when absent',
    }),
  ),
})

export const KeyQuery = Type.Object({
  kind: Type.Optional(OneOf(KEY_KINDS, { description: 'Keys of this kind only' })),
  devices: Type.Boolean({
    default: false,
    description: 'The keys of devices, instead of those of people and programs; `kind` goes before it',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }),
  offset: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 }),
})
export const KeyParams = Type.Object({ key_id: Type.String() })
