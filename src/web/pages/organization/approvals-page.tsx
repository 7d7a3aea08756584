import { shellWord } from '../../../domain/shell-word.ts'
import { api, write } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import { type ResponseOf, useApiPages } from '../../api/use-api.ts'
import { Actions, Ago, Badge, type Tone } from '../../parts/cells.tsx'
import { Confirm, ConfirmButton, DialogButton } from '../../parts/dialog.tsx'
import { Choice, TextField, useFields } from '../../parts/form.tsx'
import { Empty, Filters } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { shortId } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { OrganizationHeader } from './organization-header.tsx'

type Approval = ResponseOf<'/api/v1/approvals'>['approvals'][number]

const STATUSES = [
  ['pending', 'Waiting'],
  ['all', 'All'],
] as const
const DEFAULTS = { status: 'pending' as (typeof STATUSES)[number][0] }
const WORDS = { status: STATUSES }
const TONES: Readonly<Record<string, Tone>> = { approved: 'good', rejected: 'bad', pending: 'warn' }

const at = ({ id }: Approval) => ({ params: { path: { approval_id: id } } })

const Reject = ({ approval }: { readonly approval: Approval }) => {
  const [body, field] = useFields({ reason: '' })
  return (
    <Confirm
      title="Reject the request"
      verb="Reject"
      act={() => write(api.POST('/api/v1/approvals/{approval_id}/reject', { ...at(approval), body }))}
    >
      <p>{approval.title}: this will not be carried out.</p>
      <TextField label="Reason" hint="Shown to the requester." required maxLength={1000} {...field('reason')} />
    </Confirm>
  )
}

/** Actions that end a request without asking for a reason. */
const ENDS = {
  approve: { verb: 'Approve', tone: 'primary', needs: 'admin', says: 'this is carried out at once, as requested.' },
  cancel: { verb: 'Withdraw', tone: 'danger', needs: 'models:write', says: 'nobody can approve it anymore.' },
} as const

const End = ({ approval, by }: { readonly approval: Approval; readonly by: keyof typeof ENDS }) => {
  const { verb, tone, needs, says } = ENDS[by]
  return (
    <ConfirmButton
      button={{ 'aria-label': `${verb}: ${approval.title}`, needs }}
      title={`${verb} the request`}
      verb={verb}
      tone={tone}
      act={() => write(api.POST(`/api/v1/approvals/{approval_id}/${by}`, at(approval)))}
    >
      {approval.title}: {says}
    </ConfirmButton>
  )
}

/** `own`: the id of the person who is signed in, who cannot approve their own requests. */
const columnsOf = (own: string | undefined): readonly Column<Approval>[] => [
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
        <Actions>
          {row.requested_by !== own && <End approval={row} by="approve" />}
          <DialogButton aria-label={`Reject: ${row.title}`} needs="admin" dialog={<Reject approval={row} />}>
            Reject
          </DialogButton>
          <End approval={row} by="cancel" />
        </Actions>
      ),
  },
]

/** Requests that need approval by an admin other than the requester, and past requests. */
export const ApprovalsPage = () => {
  const [{ status }, change] = usePageState(DEFAULTS, WORDS)
  const session = useSession().data
  const org = session?.org_id ?? 'my-org'
  const query = useApiPages(
    '/api/v1/approvals',
    { query: status === 'all' ? {} : { status } },
    ({ approvals }) => approvals,
  )
  return (
    <>
      <OrganizationHeader />
      <Filters>
        <Choice label="Status" value={status} options={STATUSES} onChange={(next) => change({ status: next })} />
      </Filters>
      <LoadedTable
        title="Approvals"
        query={query}
        columns={columnsOf(session?.person?.id)}
        rows={({ rows }) => rows}
        rowKey="id"
        {...query.scrolling}
        empty={
          <Empty
            title={status === 'all' ? 'Nothing has been requested yet' : 'Nothing is waiting for approval'}
            command={`svc org set ${shellWord(org)} --require-approval true`}
          >
            Organizations can require a second admin for moving aliases, and for rollouts and deployments that reach
            more than half of the devices:
          </Empty>
        }
      />
    </>
  )
}
