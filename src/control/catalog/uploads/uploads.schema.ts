import { Type } from 'typebox'
import { Matching, Parameter } from '../../../platform/http/wire.schema.ts'

const Bytes = (description: string) => Matching('^(0|[1-9][0-9]{0,14})$', 'a number of bytes', { description })

const Sha256 = Parameter(
  'Sha256',
  Matching('^[0-9a-f]{64}$', 'a SHA-256 in lowercase hex, 64 characters', {
    description: 'SHA-256 of the whole file, in lowercase hex',
  }),
)
export const UploadParams = Type.Object({ sha256: Sha256 })

export const OffsetQuery = Type.Object({
  size: Type.Integer({ minimum: 0, description: 'Size of the whole file in bytes' }),
})

export const AppendHeaders = Type.Object({
  'upload-offset': Bytes('Bytes received so far: the offset of this part'),
  'upload-length': Bytes('Size of the whole file in bytes'),
})

const offsetHeader = { 'Upload-Offset': { schema: { type: 'integer' }, description: 'Bytes received so far' } }

export const Offset = Type.Null({ description: 'The progress is in the Upload-Offset header', headers: offsetHeader })
