import { Type } from 'typebox'
import {
  Body,
  Count,
  Envelope,
  Line,
  Nullable,
  OneOf,
  OrgId,
  Page,
  Parameter,
  Part,
  Timestamp,
  Uuid,
} from '../../platform/http/wire.schema.ts'
import { examples } from './federations.examples.ts'

const MAX_BATCH = 1000

export const FederationId = Parameter('FederationId', Type.String({ description: 'Id of a federation' }))
export const FederationParams = Type.Object({ federation_id: FederationId })
export const MemberParams = Type.Object({ federation_id: FederationId, org_id: Type.String() })
export const SharedModelParams = Type.Object({ federation_id: FederationId, model_id: Type.String() })
export const PageQuery = Type.Object(Page({ max: 1000, default: 100 }))

export const CreateFederationBody = Body('NewFederation', 'A federation to create', examples.newFederation, {
  name: Line(128, "Unique among the owner's federations"),
  org_id: OrgId('The owner'),
  description: Type.Optional(Type.String({ maxLength: 512 })),
})

export const ListFederationsQuery = Type.Object({
  org_id: Type.Optional(
    Type.String({ description: 'Only federations that this organization is a member of or invited to' }),
  ),
  name: Type.Optional(Type.String()),
  ...Page({ max: 1000, default: 100 }),
})

export const InviteBody = Body('Invitation', 'Organizations to invite', examples.invitation, {
  org_ids: Type.Array(OrgId('Id of an organization'), { minItems: 1, maxItems: MAX_BATCH }),
})
export const JoinBody = Body('JoinRequest', 'The organization that joins', examples.joinRequest, {
  org_id: OrgId('Id of an organization'),
})
export const ShareBody = Body('ModelToShare', 'A model to share', examples.modelToShare, {
  model_id: Type.String({ minLength: 1, description: 'Id or name of a model' }),
})

const role = OneOf(['owner', 'member'], { title: 'MemberRole', description: 'owner: created the federation' })
const memberStatus = OneOf(['invited', 'active'], { title: 'MemberStatus', description: 'invited: has not joined yet' })

export const Federation = Body('Federation', 'Organizations that train together', examples.federation, {
  id: Uuid,
  name: Type.String(),
  description: Type.String(),
  org_id: Type.String({ description: 'The owner' }),
  status: OneOf(['active']),
  member_count: Type.Integer({ minimum: 0, description: 'Active members, including the owner' }),
  created_at: Timestamp,
  membership: Nullable(
    Type.Object(
      { role, status: memberStatus },
      { description: "Role of the requested organization, or of the key's organization; null if it is not a member" },
    ),
  ),
})
export const FederationList = Body('FederationList', 'A page of federations', examples.federationList, {
  federations: Type.Array(Federation),
  ...Envelope,
})

export const Invited = Body('InvitedOrgs', 'Which organizations were invited', examples.invitedOrgs, {
  federation_id: Uuid,
  invited: Type.Array(Type.String()),
  skipped: Type.Array(Type.String(), { description: 'Organizations that were already members or invited' }),
})

export const Joined = Body('Membership', "An organization's membership", examples.membership, {
  federation_id: Uuid,
  org_id: Type.String(),
  role,
  status: memberStatus,
})

export const Member = Part('Member', 'A member and what its devices contributed; private rounds are left out', {
  org_id: Type.String(),
  role,
  status: memberStatus,
  invited_at: Nullable(Timestamp),
  joined_at: Nullable(Timestamp),
  rounds_contributed: Type.Integer({
    minimum: 0,
    description: 'Completed rounds with an update from its devices, except private rounds',
  }),
  total_samples: Count,
  avg_accuracy: Nullable(Type.Number({ description: 'Weighted by samples' })),
  avg_loss: Nullable(Type.Number({ description: 'Weighted by samples' })),
  last_contribution_at: Nullable(Timestamp),
})
export const MemberList = Body('MemberList', 'A page of members', examples.memberList, {
  members: Type.Array(Member),
  ...Envelope,
})
export const Left = Body('RemovedMember', 'The organization that left or was removed', examples.removedMember, {
  federation_id: Uuid,
  org_id: Type.String(),
  message: Type.String(),
})

export const SharedModel = Body('SharedModel', 'A model that members may read', examples.sharedModel, {
  federation_id: Uuid,
  model_id: Uuid,
  org_id: Nullable(Type.String({ description: 'The organization that owns the model' })),
  name: Nullable(Type.String()),
  framework: Type.String(),
  description: Type.String(),
  accuracy: Nullable(Type.Number()),
  loss: Nullable(Type.Number()),
  latest_version: Nullable(Type.Integer({ minimum: 1 })),
  shared_at: Timestamp,
})
export const SharedModelList = Body('SharedModelList', 'A page of shared models', examples.sharedModelList, {
  models: Type.Array(SharedModel),
  ...Envelope,
})
export const Unshared = Body('UnsharedModel', 'A model that is no longer shared', examples.unsharedModel, {
  federation_id: Uuid,
  model_id: Uuid,
  message: Type.String(),
})
