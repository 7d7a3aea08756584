import { Type } from 'typebox'
import { SCOPES } from '../../../domain/access.ts'
import { Body, Line, Nullable, OneOf, OrgId, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'
import { KEY_KINDS } from './keys.service.ts'

const Scopes = Type.Array(OneOf(SCOPES, { title: 'Scope', description: 'What a key may do' }), {
  description: 'Default: all scopes except admin',
  minItems: 1,
  maxItems: SCOPES.length,
  uniqueItems: true,
})

export const CreateKeyBody = Body('NewKey', 'An API key to create', examples.newKey, {
  name: Line(128, 'What the key is for'),
  scopes: Type.Optional(Scopes),
  org_id: Type.Optional(OrgId('Only for keys that are not bound to an organization')),
  expires_in_days: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 3650,
      description:
        "Default: never; at most the organization's key_lifetime_days, and no later than the key of the request",
    }),
  ),
})

const keyFields = {
  id: Uuid,
  name: Type.String(),
  prefix: Type.String({ description: 'First characters of the key, to recognize it' }),
  scopes: Type.Array(Type.String()),
  org_id: Nullable(Type.String()),
  kind: OneOf(KEY_KINDS, {
    title: 'KeyKind',
    description: "Whether a program, a person, or a device uses it; a person's key ends with their account",
  }),
  device_id: Nullable(Type.String({ description: 'For the key of a device: its user-chosen id' })),
  created_at: Timestamp,
  expires_at: Nullable(Timestamp),
  revoked_at: Nullable(Timestamp),
  last_used_at: Nullable(Timestamp),
  approved_by: Nullable(
    Type.String({ format: 'uuid', description: 'Key that approved the sign-in that created this key' }),
  ),
  person_id: Nullable(Type.String({ format: 'uuid', description: 'The person whose personal key it is' })),
  created_by: Nullable(Type.String({ description: 'Id of the person or key that created it' })),
  replaces: Nullable(Type.String({ format: 'uuid', description: 'The key that it replaced' })),
  replaced_by: Nullable(Type.String({ format: 'uuid', description: 'The key that replaced it' })),
  exceeds_lifetime: Type.Boolean({
    description: "Whether it outlives the organization's key_lifetime_days; always false for keys of devices",
  }),
}

export const Key = Body('Key', 'An API key without its secret', examples.key, keyFields)
export const CreatedKey = Body(
  'CreatedKey',
  'A new API key with its secret, which is shown only here',
  examples.createdKey,
  {
    ...keyFields,
    api_key: Type.String({ description: 'Shown only once; cannot be retrieved later' }),
  },
)
export const KeyList = Body('KeyList', 'API keys', examples.keyList, { keys: Type.Array(Key) })

export const RotateKeyBody = Body('KeyRotation', 'How a key is rotated', examples.keyRotation, {
  overlap_hours: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 720,
      description: 'How long the old key and the sign-ins it approved still work; default 24',
    }),
  ),
})

export const KeyQuery = Type.Object({
  kind: Type.Optional(OneOf(KEY_KINDS, { description: 'Only keys of this kind' })),
  devices: Type.Boolean({
    default: false,
    description: 'List keys of devices instead of those of people and programs; ignored when `kind` is given',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }),
  offset: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0 }),
})
export const KeyParams = Type.Object({ key_id: Type.String() })
