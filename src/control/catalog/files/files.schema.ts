import { Type } from 'typebox'
import { Body, Count, Nullable, Part, Timestamp, Uuid } from '../../../platform/http/wire.schema.ts'
import { examples } from '../catalog.examples.ts'

export const DamagedFileList = Body(
  'DamagedFileList',
  'Damaged files, and the time since which all files were checked',
  examples.damagedFileList,
  {
    files: Type.Array(
      Part('DamagedFile', 'A stored file that has changed or cannot be read', {
        sha256: Type.String(),
        size: Count,
        damage: Type.String({ description: 'What is wrong with it' }),
        damaged_at: Timestamp,
        versions: Type.Array(
          Part('VersionOfFile', 'A version that has this file', { model_id: Uuid, version: Type.Integer() }),
        ),
      }),
    ),
    stored_files: Type.Integer({ minimum: 0, description: 'Number of stored files' }),
    oldest_check_at: Nullable(
      Type.String({ format: 'date-time', description: 'Every file was stored or rehashed at or after this time' }),
    ),
  },
)
