import { Type } from 'typebox'
import { Nullable, OneOf, Timestamp } from '../../../platform/http/wire.schema.ts'

const Compliance = OneOf(['hipaa', 'gdpr', 'pci', 'soc2'])
const Region = OneOf(['us', 'eu', 'ap'])

export const CreateOrgBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 128 }),
  compliance: Type.Optional(Compliance),
  region: Type.Optional(Region),
})

export const Org = Type.Object({
  id: Type.String(),
  name: Type.String(),
  compliance: Nullable(Compliance),
  region: Region,
  created_at: Timestamp,
})

export const OrgParams = Type.Object({ org_id: Type.String() })
