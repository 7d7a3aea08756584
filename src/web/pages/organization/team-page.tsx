import { useState } from 'react'
import type { Role } from '../../../domain/roles.ts'
import { api, write, writeWithoutBody } from '../../api/client.ts'
import { type ResponseOf, useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Actions, Ago, Badge, Day } from '../../parts/cells.tsx'
import { Confirm, ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/form.tsx'
import { Aside, Empty } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { InviteMember, ROLE_OPTIONS } from './invite-member.tsx'
import { OrganizationHeader } from './organization-header.tsx'
import { SignInPolicy } from './sign-in-policy.tsx'

type Member = ResponseOf<'/api/v1/team'>['members'][number]

const at = ({ id }: Member) => ({ params: { path: { member_id: id } } })

const SetRole = ({ member }: { readonly member: Member }) => {
  const [role, setRole] = useState<Role>(member.role)
  return (
    <Confirm
      title={`Set the role of ${member.email}`}
      verb="Set role"
      tone="primary"
      act={() => write(api.PATCH('/api/v1/team/{member_id}', { ...at(member), body: { role } }))}
    >
      <p>It applies at once, also to their open sessions and personal keys.</p>
      <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={setRole} />
    </Confirm>
  )
}

const Remove = ({ member }: { readonly member: Member }) => (
  <ConfirmButton
    button={{ needs: 'admin', 'aria-label': `Remove ${member.email}` }}
    title={`Remove ${member.email}`}
    verb="Remove"
    act={() => writeWithoutBody(api.DELETE('/api/v1/team/{member_id}', at(member)))}
  >
    {member.status === 'active'
      ? 'Their account, sessions, and personal keys stop working at once. Service keys that they created stay valid.'
      : 'The invitation link stops working.'}
  </ConfirmButton>
)

const COLUMNS: readonly Column<Member>[] = [
  { name: 'Email', cell: ({ email }) => <span title={email ?? undefined}>{email}</span> },
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Role', cell: ({ role }) => role },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Second factor', cell: ({ mfa }) => (mfa ? 'yes' : 'no') },
  { name: 'Signed in', number: true, cell: ({ signed_in_at }) => <Ago time={signed_in_at} /> },
  { name: 'Invitation ends', number: true, cell: ({ expires_at }) => expires_at != null && <Day time={expires_at} /> },
  {
    name: 'Actions',
    cell: (member) => (
      <Actions>
        <DialogButton needs="admin" aria-label={`Set role of ${member.email}`} dialog={<SetRole member={member} />}>
          Set role
        </DialogButton>
        <Remove member={member} />
      </Actions>
    ),
  },
]

/** The organization's people and invitations. */
export const TeamPage = () => {
  const query = useApi('/api/v1/team', {}, WITHOUT_EVENTS)
  return (
    <>
      <OrganizationHeader>
        <Aside>
          <DialogButton tone="primary" needs="admin" dialog={<InviteMember />}>
            Invite
          </DialogButton>
        </Aside>
      </OrganizationHeader>
      <LoadedTable
        title={`Team of ${query.data?.org_id}`}
        label="Team"
        query={query}
        columns={COLUMNS}
        rows={({ members }) => members}
        rowKey="id"
        empty={
          <Empty title="Nobody is on this team yet" command="svc team add ada@example.org --role admin">
            People join with a link that works once, for 7 days. Invite somebody here, or with:
          </Empty>
        }
      />
      <SignInPolicy />
    </>
  )
}
