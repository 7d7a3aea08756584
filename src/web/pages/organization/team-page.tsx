import { useState } from 'react'
import type { Role } from '../../../domain/roles.ts'
import { api, write, writeWithoutBody } from '../../api/client.ts'
import { type ResponseOf, useApi, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Actions, Ago, Badge, Day } from '../../parts/cells.tsx'
import { Confirm, DialogButton } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/form.tsx'
import { Aside, Empty, Loaded } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import { showOnce } from '../../parts/shown-once.tsx'
import type { Column } from '../../parts/table.tsx'
import { InviteMember, ROLE_OPTIONS } from './invite-member.tsx'
import { OrganizationHeader } from './organization-header.tsx'
import { SignInPolicy } from './sign-in-policy.tsx'

type Member = ResponseOf<'/api/v1/team'>['members'][number]

const at = ({ id }: Member) => ({ params: { path: { member_id: id } } })

const SetRole = ({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) => {
  const [role, setRole] = useState<Role>(member.role)
  return (
    <Confirm
      title={`Set the role of ${member.email}`}
      verb="Set role"
      tone="primary"
      act={() => write(api.PATCH('/api/v1/team/{member_id}', { ...at(member), body: { role } }))}
      onClose={onClose}
    >
      <p>It applies at once, also to their open sessions and personal keys.</p>
      <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={setRole} />
    </Confirm>
  )
}

const Remove = ({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) => (
  <Confirm
    title={`Remove ${member.email}`}
    verb="Remove"
    act={() => writeWithoutBody(api.DELETE('/api/v1/team/{member_id}', at(member)))}
    onClose={onClose}
  >
    {member.status === 'active'
      ? 'Their account, sessions, and personal keys stop working at once. Service keys that they created stay valid.'
      : 'The invitation link stops working.'}
  </Confirm>
)

const showLink = (text: string): void =>
  showOnce({
    title: 'The invitation',
    what: 'link',
    text,
    says: 'Send this link to the person you invited. It works once, for 7 days, and is shown only once.',
  })

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
        <DialogButton
          needs="admin"
          aria-label={`Set role of ${member.email}`}
          dialog={(close) => <SetRole member={member} onClose={close} />}
        >
          Set role
        </DialogButton>
        <DialogButton
          needs="admin"
          aria-label={`Remove ${member.email}`}
          dialog={(close) => <Remove member={member} onClose={close} />}
        >
          Remove
        </DialogButton>
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
          <DialogButton
            tone="primary"
            needs="admin"
            dialog={(close) => <InviteMember onMade={showLink} onClose={close} />}
          >
            Invite
          </DialogButton>
        </Aside>
      </OrganizationHeader>
      <Loaded query={query}>
        {({ org_id, members }) => (
          <TablePanel
            title={`Team of ${org_id}`}
            label="Team"
            columns={COLUMNS}
            rows={members}
            rowKey="id"
            empty={
              <Empty title="Nobody is on this team yet" command="svc team add ada@example.org --role admin">
                People join with a link that works once, for 7 days. Invite somebody here, or with:
              </Empty>
            }
          />
        )}
      </Loaded>
      <SignInPolicy />
    </>
  )
}
