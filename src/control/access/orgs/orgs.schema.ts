import { Type } from 'typebox'
import { Body, Nullable, OneOf, Timestamp } from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'

const Compliance = OneOf(['hipaa', 'gdpr', 'pci', 'soc2'], { title: 'Compliance', description: 'A compliance regime' })
const Region = OneOf(['us', 'eu', 'ap'], { title: 'Region', description: 'Where data is kept' })

export const CreateOrgBody = Body('NewOrg', 'An organization to create', examples.newOrg, {
  name: Type.String({ minLength: 1, maxLength: 128 }),
  compliance: Type.Optional(Compliance),
  region: Type.Optional(Region),
})

export const Org = Body('Org', 'An organization', examples.org, {
  id: Type.String(),
  name: Type.String(),
  compliance: Nullable(Compliance),
  region: Region,
  created_at: Timestamp,
})

export const OrgParams = Type.Object({ org_id: Type.String() })
