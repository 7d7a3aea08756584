import { Type } from 'typebox'

const Bytes = (description: string) => Type.String({ pattern: '^(0|[1-9][0-9]{0,14})$', description })

export const UploadParams = Type.Object({
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the whole file, in lower-case hex' }),
})

export const OffsetQuery = Type.Object({
  size: Type.Integer({ minimum: 0, description: 'Bytes of the whole file' }),
})

export const AppendHeaders = Type.Object({
  'upload-offset': Bytes('Bytes that are there already'),
  'upload-length': Bytes('Bytes of the whole file'),
})

const offsetHeader = { 'Upload-Offset': { type: 'integer', description: 'Bytes that are there' } }

export const Offset = Type.Null({ description: 'In the header Upload-Offset', headers: offsetHeader })
