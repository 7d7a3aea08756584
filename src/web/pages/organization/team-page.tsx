import { useState } from 'react'
import type { Role } from '../../../domain/roles.ts'
import { api } from '../../api/client.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { write, writeWithoutAnswer } from '../../api/write.ts'
import { Badge } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { SelectField } from '../../parts/form.tsx'
import { Aside, Button, Empty, Loaded, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { InviteMember, ROLE_OPTIONS } from './invite-member.tsx'
import { OrganizationHeader } from './organization-header.tsx'
import { ShownOnce } from './shown-once.tsx'
import { SignInPolicy } from './sign-in-policy.tsx'

type Member = AnswerOf<'/api/v1/team'>['members'][number]

const at = ({ id }: Member) => ({ params: { path: { member_id: id } } })

const SetRole = ({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) => {
  const [role, setRole] = useState<Role>(member.role)
  return (
    <Confirm
      title={`The role of ${member.email}`}
      verb="Set role"
      tone="primary"
      act={() => write(api.PATCH('/api/v1/team/{member_id}', { ...at(member), body: { role } }))}
      onClose={onClose}
    >
      <p>It holds at once, for their browsers and their own keys too.</p>
      <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={setRole} />
    </Confirm>
  )
}

const columnsOf = (onRole: (row: Member) => void, onRemove: (row: Member) => void): readonly Column<Member>[] => [
  { name: 'Email', cell: ({ email }) => email },
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Role', cell: ({ role }) => role },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Second factor', cell: ({ mfa }) => (mfa ? 'yes' : 'no') },
  { name: 'Signed in', number: true, cell: ({ signed_in_at }) => <Ago time={signed_in_at} /> },
  { name: 'Invitation ends', number: true, cell: ({ expires_at }) => expires_at?.slice(0, 10) },
  {
    name: 'Actions',
    cell: (member) => (
      <>
        <Button aria-label={`Set role of ${member.email}`} onClick={() => onRole(member)}>
          Set role
        </Button>{' '}
        <Button aria-label={`Remove ${member.email}`} onClick={() => onRemove(member)}>
          Remove
        </Button>
      </>
    ),
  },
]

/** The people of the organization, and who is invited. */
export const TeamPage = () => {
  const [inviting, setInviting] = useState(false)
  const [changing, setChanging] = useState<Member | null>(null)
  const [removing, setRemoving] = useState<Member | null>(null)
  const [link, setLink] = useState<string | null>(null)
  const query = useApi('/api/v1/team', {})
  return (
    <>
      <OrganizationHeader>
        <Aside>
          <Button tone="primary" onClick={() => setInviting(true)}>
            Invite
          </Button>
        </Aside>
      </OrganizationHeader>
      <Loaded query={query}>
        {({ org_id, members }) => (
          <Panel title={`Team of ${org_id}`} flush>
            {members.length === 0 ? (
              <Empty title="Nobody is in this team yet" command="svc team add ada@example.org --role admin">
                People join by a link that works once, for 7 days. Invite somebody here, or with:
              </Empty>
            ) : (
              <Table
                label="Team"
                columns={columnsOf(setChanging, setRemoving)}
                rows={members}
                rowKey={({ id }) => id}
              />
            )}
          </Panel>
        )}
      </Loaded>
      <SignInPolicy />
      {inviting && <InviteMember onMade={setLink} onClose={() => setInviting(false)} />}
      {changing && <SetRole member={changing} onClose={() => setChanging(null)} />}
      {removing && (
        <Confirm
          title={`Remove ${removing.email}`}
          verb="Remove"
          act={() => writeWithoutAnswer(api.DELETE('/api/v1/team/{member_id}', at(removing)))}
          onClose={() => setRemoving(null)}
        >
          {removing.status === 'active'
            ? 'Their account, their sessions and their own keys end at once. Keys that they made for programs stay.'
            : 'The link of the invitation stops working.'}
        </Confirm>
      )}
      {link !== null && (
        <ShownOnce title="The invitation" what="link" text={link} onClose={() => setLink(null)}>
          Send this link to whom you invited. It works once, for 7 days, and is shown only here.
        </ShownOnce>
      )}
    </>
  )
}
