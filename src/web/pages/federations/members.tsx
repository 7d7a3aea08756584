import { useState } from 'react'
import { useLocation } from 'wouter'
import { api } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Badge } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Button, Loaded, Panel } from '../../parts/layout.tsx'
import { Meter } from '../../parts/meter.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, measure, percent, plural } from '../../text/format.ts'
import { useRole } from './role.ts'
import { type Federation, type Member, OTHERS } from './types.ts'

const MOST = 1000

/** What ending this membership is called; null where this session may not. */
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
    ? `The invitation of ${org_id} ends; it no longer sees this federation.`
    : `Devices of ${org_id} are drawn no more, and it no longer reads the shared models. What it contributed to ${plural(rounds_contributed, 'round')} stays in their models.`

const columnsFor = (
  samples: number,
  ending: (member: Member) => ReturnType<typeof endingOf>,
  onEnd: (member: Member) => void,
): readonly Column<Member>[] => [
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
  {
    name: 'Action',
    cell: (member) => {
      const verb = ending(member)
      return (
        verb && (
          <Button onClick={() => onEnd(member)} aria-label={`${verb} ${member.org_id}`}>
            {verb}
          </Button>
        )
      )
    },
  },
]

/** Who takes part, and what its devices contributed to completed rounds. */
export const Members = ({ federation }: { readonly federation: Federation }) => {
  const [, navigate] = useLocation()
  const [ending, setEnding] = useState<Member | null>(null)
  const { own, isOwner } = useRole(federation)
  const query = useApi(
    '/api/v1/federations/{federation_id}/members',
    { path: { federation_id: federation.id }, query: { limit: MOST } },
    OTHERS,
  )
  const end = async (org_id: string): Promise<void> => {
    const params = { path: { federation_id: federation.id, org_id } }
    await write(api.DELETE('/api/v1/federations/{federation_id}/members/{org_id}', { params }))
    if (org_id === own) navigate('/federations')
  }
  const verb = ending && endingOf(ending, own, isOwner)
  return (
    <Panel
      title="Members"
      aside="contributions to rounds without privacy; private rounds tell nothing of single members"
      flush
    >
      <Loaded query={query}>
        {({ members }) => (
          <Table
            label="Members"
            columns={columnsFor(
              members.reduce((sum, { total_samples }) => sum + total_samples, 0),
              (member) => endingOf(member, own, isOwner),
              setEnding,
            )}
            rows={members}
            rowKey={({ org_id }) => org_id}
          />
        )}
      </Loaded>
      {ending && verb && (
        <Confirm
          title={`${verb} ${ending.org_id}?`}
          verb={verb}
          {...(ending.status === 'active' && { name: ending.org_id })}
          onClose={() => setEnding(null)}
          act={() => end(ending.org_id)}
        >
          {consequence(ending)}
        </Confirm>
      )}
    </Panel>
  )
}
