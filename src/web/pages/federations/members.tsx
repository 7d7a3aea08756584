import { useLocation } from 'wouter'
import { api, write } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { Loaded, Panel } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, measure, percent, plural } from '../../text/format.ts'
import { type Federation, type Member, OTHERS } from './federation-records.ts'
import { useRole } from './role.ts'

const MAX_ROWS = 1000

/** Returns the verb for ending this membership; null if this session may not end it. */
const endingOf = (
  member: Member,
  own: string | null,
  isOwner: boolean,
): 'Leave' | 'Decline' | 'Remove' | 'Withdraw' | null => {
  if (member.role === 'owner') return null
  if (member.org_id === own) return member.status === 'invited' ? 'Decline' : 'Leave'
  if (!isOwner) return null
  return member.status === 'invited' ? 'Withdraw' : 'Remove'
}

const consequence = ({ org_id, status, rounds_contributed }: Member): string =>
  status === 'invited'
    ? `The invitation of ${org_id} ends, and ${org_id} can no longer see this federation.`
    : `Devices of ${org_id} are no longer selected, and ${org_id} can no longer read the shared models. Its contributions to ${plural(rounds_contributed, 'round')} stay in their models.`

const End = ({ federation, member }: { readonly federation: Federation; readonly member: Member }) => {
  const [, navigate] = useLocation()
  const { own, isOwner } = useRole(federation)
  const verb = endingOf(member, own, isOwner)
  const { org_id, status } = member
  if (verb === null) return null
  const what = org_id === own ? federation.name : org_id
  const end = async (): Promise<void> => {
    const params = { path: { federation_id: federation.id, org_id } }
    await write(api.DELETE('/api/v1/federations/{federation_id}/members/{org_id}', { params }))
    if (org_id === own) navigate('/federations')
  }
  return (
    <ConfirmButton
      button={{ needs: 'training:write', 'aria-label': `${verb} ${what}` }}
      title={`${verb} ${what}?`}
      verb={verb}
      {...(status === 'active' && { name: what })}
      act={end}
    >
      {consequence(member)}
    </ConfirmButton>
  )
}

const columnsFor = (federation: Federation, samples: number): readonly Column<Member>[] => [
  { name: 'Organization', cell: ({ org_id }) => <strong>{org_id}</strong> },
  { name: 'Role', cell: ({ role }) => role },
  { name: 'Status', cell: ({ status }) => <Badge state={status} tone={status === 'invited' ? 'warn' : 'good'} /> },
  { name: 'Rounds', number: true, cell: ({ rounds_contributed }) => count(rounds_contributed) },
  {
    name: 'Samples',
    cell: ({ org_id, total_samples }) => (
      <Meter
        label={`Samples of ${org_id}`}
        value={total_samples}
        max={Math.max(1, samples)}
        text={samples === 0 ? '0' : `${count(total_samples)}, ${percent(total_samples / samples)}`}
      />
    ),
  },
  { name: 'Accuracy', number: true, cell: ({ avg_accuracy }) => percent(avg_accuracy) },
  { name: 'Loss', number: true, cell: ({ avg_loss }) => measure(avg_loss) },
  { name: 'Last contribution', number: true, cell: ({ last_contribution_at }) => <Ago time={last_contribution_at} /> },
  { name: 'Joined', number: true, cell: ({ joined_at }) => <Ago time={joined_at} /> },
  { name: 'Action', cell: (member) => <End federation={federation} member={member} /> },
]

/** The members, and their devices' contributions to completed rounds. */
export const Members = ({ federation }: { readonly federation: Federation }) => {
  const query = useApi(
    '/api/v1/federations/{federation_id}/members',
    { path: { federation_id: federation.id }, query: { limit: MAX_ROWS } },
    OTHERS,
  )
  return (
    <Panel
      title="Members"
      aside="contributions to non-private rounds; private rounds reveal nothing about individual members"
      flush
    >
      <Loaded query={query}>
        {({ members }) => (
          <Table
            label="Members"
            columns={columnsFor(
              federation,
              members.reduce((sum, { total_samples }) => sum + total_samples, 0),
            )}
            rows={members}
            rowKey="org_id"
          />
        )}
      </Loaded>
    </Panel>
  )
}
