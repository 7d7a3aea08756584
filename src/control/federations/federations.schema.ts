import { Type } from 'typebox'
import { Count, Envelope, Nullable, OneOf, Page, Timestamp, Uuid } from '../../platform/http/wire.schema.ts'

const OrgId = Type.String({ minLength: 1, maxLength: 128 })
const MOST_AT_ONCE = 1000

export const FederationParams = Type.Object({ federation_id: Type.String() })
export const MemberParams = Type.Object({ federation_id: Type.String(), org_id: Type.String() })
export const SharedModelParams = Type.Object({ federation_id: Type.String(), model_id: Type.String() })
export const PageQuery = Type.Object(Page({ max: 1000, default: 100 }))

export const CreateFederationBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 128, description: 'Unique among those of its owner' }),
  org_id: Type.String({ ...OrgId, description: 'The owner' }),
  description: Type.Optional(Type.String({ maxLength: 512 })),
})

export const ListFederationsQuery = Type.Object({
  org_id: Type.Optional(Type.String({ description: 'Only those that it is a member of or invited to' })),
  name: Type.Optional(Type.String()),
  ...Page({ max: 1000, default: 100 }),
})

export const InviteBody = Type.Object({
  org_ids: Type.Array(OrgId, { minItems: 1, maxItems: MOST_AT_ONCE }),
})
export const JoinBody = Type.Object({ org_id: OrgId })
export const ShareBody = Type.Object({ model_id: Type.String({ minLength: 1, description: 'Id or name of a model' }) })

const role = OneOf(['owner', 'member'])
const memberStatus = OneOf(['invited', 'active'])

export const Federation = Type.Object({
  id: Uuid,
  name: Type.String(),
  description: Type.String(),
  org_id: Type.String({ description: 'The owner' }),
  status: OneOf(['active']),
  member_count: Type.Integer({ minimum: 0, description: 'Active members, the owner among them' }),
  created_at: Timestamp,
  membership: Nullable(
    Type.Object(
      { role, status: memberStatus },
      { description: "Of the organization that was asked for, else of the key's; null when it is none" },
    ),
  ),
})
export const FederationList = Type.Object({ federations: Type.Array(Federation), ...Envelope })

export const Invited = Type.Object({
  federation_id: Uuid,
  invited: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'Members or invited already' }),
})

export const Joined = Type.Object({
  federation_id: Uuid,
  org_id: Type.String(),
  role,
  status: memberStatus,
})

export const Member = Type.Object({
  org_id: Type.String(),
  role,
  status: memberStatus,
  invited_at: Nullable(Timestamp),
  joined_at: Nullable(Timestamp),
  rounds_contributed: Type.Integer({ minimum: 0, description: 'Completed rounds with an update of its devices' }),
  total_samples: Count,
  avg_accuracy: Nullable(Type.Number({ description: 'Weighted by samples' })),
  avg_loss: Nullable(Type.Number({ description: 'Weighted by samples' })),
  last_contribution_at: Nullable(Timestamp),
})
export const MemberList = Type.Object({ members: Type.Array(Member), ...Envelope })
export const Left = Type.Object({ federation_id: Uuid, org_id: Type.String(), message: Type.String() })

export const SharedModel = Type.Object({
  federation_id: Uuid,
  model_id: Uuid,
  org_id: Nullable(Type.String({ description: 'Whose model it is' })),
  name: Nullable(Type.String()),
  framework: Type.String(),
  description: Type.String(),
  accuracy: Nullable(Type.Number()),
  loss: Nullable(Type.Number()),
  latest_version: Nullable(Type.Integer({ minimum: 1 })),
  shared_at: Timestamp,
})
export const SharedModelList = Type.Object({ models: Type.Array(SharedModel), ...Envelope })
export const Unshared = Type.Object({ federation_id: Uuid, model_id: Uuid, message: Type.String() })
