import { Type } from 'typebox'
import { Body, Envelope, Nullable, Page, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'

const VersionNumber = Type.Integer({ minimum: 1 })
const Mover = {
  moved_at: Timestamp,
  moved_by: Nullable(
    Type.String({
      format: 'uuid',
      description: 'Id of the person or key that requested it; null for device keys and other organizations',
    }),
  ),
  moved_by_name: Nullable(
    Type.String({
      description: 'Name of that person or key, as long as they exist; null for device keys and other organizations',
    }),
  ),
}

const MOVED = {
  moved_at: '2026-01-01T00:00:00.000Z',
  moved_by: '0190c5a1-1d2c-4c4c-8c8c-111111111111',
  moved_by_name: 'ci',
}
const ALIAS_EXAMPLE = {
  model_id: '0190c5a1-1d2c-4c4c-8c8c-222222222222',
  alias: 'production',
  version: 4,
  version_label: '1.3.0',
  ...MOVED,
}
const HISTORY_EXAMPLE = {
  moves: [
    {
      alias: 'production',
      from_version: 3,
      from_version_label: '1.2.0',
      to_version: 4,
      to_version_label: '1.3.0',
      ...MOVED,
    },
  ],
  total: 1,
  limit: 20,
  offset: 0,
}

export const AliasParams = Type.Object({
  model_id: Type.String({ description: 'A model id, or a model name' }),
  alias: Type.String({ description: 'Such as production' }),
})

export const SetAliasBody = Body(
  'SetAliasRequest',
  'The version to move an alias to',
  { version: '1.3.0' },
  {
    version: Type.String({
      minLength: 1,
      description: 'A number, a semantic version, latest, or another alias, which is resolved now',
    }),
    expected_version: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          description:
            'Move the alias only if it currently points to this version; null: only if it does not exist yet',
        }),
      ),
    ),
  },
)

export const DeleteAliasQuery = Type.Object({
  expected_version: Type.Optional(
    Type.String({ description: 'Delete the alias only if it currently points to this version' }),
  ),
})

export const Alias = Body('Alias', 'A movable name for a version', ALIAS_EXAMPLE, {
  model_id: Uuid,
  alias: Type.String(),
  version: VersionNumber,
  version_label: Type.String(),
  ...Mover,
})

export const AliasList = Body(
  'AliasList',
  'The aliases of a model, in alphabetical order',
  { aliases: [ALIAS_EXAMPLE] },
  { aliases: Type.Array(Alias) },
)

export const AliasHistoryQuery = Type.Object({
  ...Page({ max: 100, default: 20 }),
  alias: Type.Optional(Type.String()),
})

export const AliasHistory = Body('AliasHistory', 'Moves of aliases, newest first', HISTORY_EXAMPLE, {
  moves: Type.Array(
    Part('AliasMove', 'A move of an alias; a version is null before the first move and after a deletion', {
      alias: Type.String(),
      from_version: Nullable(VersionNumber),
      from_version_label: Nullable(Type.String()),
      to_version: Nullable(VersionNumber),
      to_version_label: Nullable(Type.String()),
      ...Mover,
    }),
  ),
  ...Envelope,
})
