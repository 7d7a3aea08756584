import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { useApiPages } from '../../api/use-api.ts'
import { write } from '../../api/write.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Button, Choice, Empty, Filters, Loaded, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { shortId } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { OrganizationHeader } from './organization-header.tsx'

type Approval = AnswerOf<'/api/v1/approvals'>['approvals'][number]
type Decision = 'approve' | 'reject' | 'cancel'

const STATUSES = [
  ['pending', 'Waiting'],
  ['all', 'All'],
] as const
const DEFAULTS: { readonly status: string } = { status: 'pending' }
const TONES: Readonly<Record<string, Tone>> = { approved: 'good', rejected: 'bad', pending: 'warn' }

const at = ({ id }: Approval) => ({ params: { path: { approval_id: id } } })

const Reject = ({ approval, onClose }: { readonly approval: Approval; readonly onClose: () => void }) => {
  const [reason, setReason] = useState('')
  return (
    <Confirm
      title="Reject the request"
      verb="Reject"
      act={() => write(api.POST('/api/v1/approvals/{approval_id}/reject', { ...at(approval), body: { reason } }))}
      onClose={onClose}
    >
      <p>{approval.title}: it is not done.</p>
      <TextField
        label="Reason"
        hint="For whoever requested it."
        required
        maxLength={1000}
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
    </Confirm>
  )
}

const Decide = ({ approval, what, onClose }: { approval: Approval; what: Decision; onClose: () => void }) => {
  if (what === 'reject') return <Reject approval={approval} onClose={onClose} />
  const approves = what === 'approve'
  return (
    <Confirm
      title={approves ? 'Approve the request' : 'Withdraw the request'}
      verb={approves ? 'Approve' : 'Withdraw'}
      tone={approves ? 'primary' : 'danger'}
      act={() => write(api.POST(`/api/v1/approvals/{approval_id}/${what}`, at(approval)))}
      onClose={onClose}
    >
      {approval.title}: {approves ? 'this is done at once, as it was requested.' : 'nobody can approve it any more.'}
    </Confirm>
  )
}

const columnsOf = (decide: (approval: Approval, what: Decision) => void): readonly Column<Approval>[] => [
  { name: 'What', cell: ({ title }) => title },
  { name: 'Status', cell: ({ status }) => <Badge state={status} tone={TONES[status] ?? 'idle'} /> },
  { name: 'Requested by', cell: (row) => row.requested_by_name ?? <code>{shortId(row.requested_by)}</code> },
  { name: 'Requested', number: true, cell: ({ requested_at }) => <Ago time={requested_at} /> },
  { name: 'Ends', number: true, cell: ({ status, expires_at }) => status === 'pending' && <Ago time={expires_at} /> },
  {
    name: 'Decided by',
    cell: (row) => row.decided_by_name ?? (row.decided_by !== null && <code>{shortId(row.decided_by)}</code>),
  },
  { name: 'Reason', cell: ({ reason }) => reason },
  {
    name: 'Actions',
    cell: (row) =>
      row.status === 'pending' && (
        <>
          <Button aria-label={`Approve: ${row.title}`} onClick={() => decide(row, 'approve')}>
            Approve
          </Button>{' '}
          <Button aria-label={`Reject: ${row.title}`} onClick={() => decide(row, 'reject')}>
            Reject
          </Button>{' '}
          <Button aria-label={`Withdraw: ${row.title}`} onClick={() => decide(row, 'cancel')}>
            Withdraw
          </Button>
        </>
      ),
  },
]

/** What waits for another admin than whoever requested it, and what became of such requests. */
export const ApprovalsPage = () => {
  const [page, change] = usePageState(DEFAULTS)
  const status = page.status === 'all' ? 'all' : 'pending'
  const [deciding, setDeciding] = useState<readonly [Approval, Decision] | null>(null)
  const query = useApiPages('/api/v1/approvals', { query: status === 'all' ? {} : { status } })
  return (
    <>
      <OrganizationHeader />
      <Filters>
        <Choice label="Status" value={status} options={STATUSES} onChange={(next) => change({ status: next })} />
      </Filters>
      <Loaded query={query}>
        {({ pages }) => {
          const approvals = pages.flatMap((each) => each.approvals)
          return (
            <Panel title="Approvals" flush>
              {approvals.length === 0 ? (
                <Empty title="Nothing waits for approval" command="svc org set --require-approval true">
                  Organizations can require a second admin for moves of aliases and for what reaches most devices:
                </Empty>
              ) : (
                <Table
                  label="Approvals"
                  columns={columnsOf((approval, what) => setDeciding([approval, what]))}
                  rows={approvals}
                  rowKey={({ id }) => id}
                  onEnd={query.hasNextPage ? query.fetchNextPage : undefined}
                />
              )}
            </Panel>
          )
        }}
      </Loaded>
      {deciding && <Decide approval={deciding[0]} what={deciding[1]} onClose={() => setDeciding(null)} />}
    </>
  )
}
