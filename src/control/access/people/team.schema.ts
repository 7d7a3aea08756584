import { Type } from 'typebox'
import { ROLES } from '../../../domain/roles.ts'
import {
  Body,
  Line,
  Matching,
  Nullable,
  OneOf,
  OrgId,
  RefWith,
  Timestamp,
  Uuid,
} from '../../../platform/http/wire.schema.ts'
import { examples } from '../access.examples.ts'
import { settingFields } from '../orgs/orgs.schema.ts'
import { PASSWORD_LENGTH } from '../sign-in/passwords.service.ts'

const Role = OneOf(ROLES, {
  title: 'Role',
  description: 'admin: everything; member: everything except administration; viewer: read only',
})
/** One address: nothing that could be read as a second one, or as another line of an email. */
const Email = Matching(
  '^[^\\s@<>()\\[\\],;:"\\\\\\p{C}]+@[^\\s@<>()\\[\\],;:"\\\\\\p{C}]+$',
  'one email address, such as ada@example.org',
  { title: 'Email', description: 'An email address', maxLength: 254 },
)
const NAMED_ORG = 'Only for keys that are not bound to an organization'
const NamedOrg = OrgId(NAMED_ORG)
const InvitationToken = Type.String({ maxLength: 100, description: 'From the link of the invitation' })

const memberFields = {
  id: Uuid,
  email: Nullable(Type.String()),
  name: Nullable(Type.String()),
  role: Role,
  status: OneOf(['active', 'invited', 'expired'], { description: 'Invitations expire after 7 days' }),
  mfa: Type.Boolean({ description: 'Whether a second factor or a passkey is set up' }),
  signed_in_at: Nullable(Timestamp),
  created_at: Timestamp,
  expires_at: Nullable(Type.String({ format: 'date-time', description: 'Only for invitations' })),
}

export const Member = Body(
  'TeamMember',
  'A member of an organization, or an invitation to it',
  examples.member,
  memberFields,
)
export const Team = Body('Team', 'The people of an organization', examples.team, {
  org_id: Type.String(),
  members: Type.Array(Member),
})
export const NewInvitation = Body('NewTeamMember', 'A person to invite', examples.newInvitation, {
  email: Email,
  role: Type.Optional(RefWith(Role, { description: 'Default: member' })),
  org_id: Type.Optional(NamedOrg),
})
export const Invitation = Body(
  'TeamInvitation',
  'An invitation with its link, which is shown only here',
  examples.invitation,
  {
    ...memberFields,
    org_id: Type.String(),
    token: Type.String({ description: 'Shown only once' }),
    link: Type.String({ description: 'Link for the invited person; works once' }),
    mail: Type.String({
      description: 'sent; off (SERVICE_SMTP_URL is not set); or failed, with the error of the mail server',
    }),
  },
)
export const NewRole = Body('NewRole', 'The role of a member', examples.newRole, { role: Role })
export const TokenOfInvitation = Body('InvitationToken', 'The token of an invitation', examples.invitationToken, {
  token: InvitationToken,
})
export const InvitationView = Body('InvitationView', 'What an invitation is for', examples.invitationView, {
  org_id: Type.String(),
  email: Type.String(),
  role: Role,
  expires_at: Timestamp,
})
export const Acceptance = Body('InvitationAcceptance', 'An accepted invitation', examples.acceptance, {
  token: InvitationToken,
  name: Type.Optional(Line(128, 'What to call you')),
  password: Type.String({
    maxLength: PASSWORD_LENGTH.max,
    description: `At least ${PASSWORD_LENGTH.min} characters`,
  }),
})
const { require_mfa, session_hours, reauthenticate_minutes } = settingFields
const policyFields = { require_mfa, session_hours, reauthenticate_minutes }
export const SignInPolicy = Body('SignInPolicy', 'How the people of an organization sign in', examples.signInPolicy, {
  org_id: Type.String(),
  ...policyFields,
})
export const NewSignInPolicy = Body('NewSignInPolicy', 'A sign-in policy to change', examples.newSignInPolicy, {
  ...Type.Partial(Type.Object(policyFields)).properties,
  org_id: Type.Optional(NamedOrg),
})
/** Any text, because version 1.0.0 accepted it as the id of an organization. */
export const TeamQuery = Type.Object({
  org_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: NAMED_ORG })),
})
export const MemberParams = Type.Object({ member_id: Type.String() })
export const NameParams = Type.Object({
  name_kind: Type.String({ maxLength: 40, description: 'As in the log entries: person, key, device, invitation, ...' }),
  name_id: Type.String({ maxLength: 255, description: 'Its id in the log entries' }),
})
