import type { ReactNode } from 'react'
import { AUDIT_RESULTS, type AuditResult } from '../../../domain/audit.ts'
import { useMay, useSession } from '../../api/session.ts'
import { type ResponseOf, useApiPages, WITHOUT_EVENTS } from '../../api/use-api.ts'
import { Ago, Badge, type Tone } from '../../parts/cells.tsx'
import { CloseButton, Dialog, DialogButton } from '../../parts/dialog.tsx'
import { Choice, choices, SearchField } from '../../parts/form.tsx'
import { Aside, Empty, Facts, Filters, Quiet } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { exact, shortId } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { OrganizationHeader } from './organization-header.tsx'
import { VerifyAudit } from './verify-audit.tsx'

type Entry = ResponseOf<'/api/v1/audit'>['entries'][number]
type FieldChange = Entry['changes'][number]

const DEFAULTS = { actor: '', action: '', object: '', result: '' as AuditResult | '' }
const RESULTS = choices('Any result', AUDIT_RESULTS)
const WORDS = { result: RESULTS }
const TONES: Readonly<Record<AuditResult, Tone>> = { ok: 'good', refused: 'warn', failed: 'bad' }

const actorOf = ({ actor_kind, actor_name, actor_id }: Entry): string =>
  actor_name ?? (actor_id === null ? actor_kind : `${actor_kind} ${shortId(actor_id)}`)
const objectOf = ({ object_kind, object_name, object_id }: Entry): string =>
  object_kind === null ? '' : `${object_kind} ${object_name ?? shortId(object_id ?? '')}`

/** `everyones`: users without an organization see all organizations' entries, each numbered separately. */
const columnsOf = (everyones: boolean): readonly Column<Entry>[] => [
  ...(everyones
    ? [{ name: 'Organization', cell: ({ org_id }: Entry) => org_id ?? <Quiet>none</Quiet> } satisfies Column<Entry>]
    : []),
  { name: 'Number', number: true, cell: ({ seq }) => seq },
  { name: 'When', number: true, cell: ({ at }) => <Ago time={at} /> },
  { name: 'Who', cell: actorOf },
  { name: 'Action', cell: ({ action }) => <code>{action}</code> },
  { name: 'Object', cell: objectOf },
  { name: 'Result', cell: ({ result }) => <Badge state={result} tone={TONES[result]} /> },
  {
    name: 'Details',
    cell: (entry) => (
      <DialogButton aria-label={`Show entry ${entry.seq}`} dialog={<Details entry={entry} />}>
        Show
      </DialogButton>
    ),
  },
]

const CHANGES: readonly Column<FieldChange>[] = [
  { name: 'Field', cell: ({ field }) => <code>{field}</code> },
  { name: 'From', cell: ({ from }) => from ?? '–' },
  { name: 'To', cell: ({ to }) => to ?? '–' },
]

const present = (entries: readonly (readonly [string, ReactNode])[]) =>
  entries.filter(([, value]) => value !== null && value !== '')

const Details = ({ entry }: { readonly entry: Entry }) => (
  <Dialog title={`Entry ${entry.seq}`}>
    <Facts
      entries={present([
        ['When', exact(new Date(entry.at))],
        ['Who', actorOf(entry)],
        ['From', entry.address],
        ['Key or session', entry.credential_id && shortId(entry.credential_id)],
        ['Action', entry.action],
        ['Object', objectOf(entry)],
        ['Result', entry.status === null ? entry.result : `${entry.result} (${entry.status})`],
        ['Request', entry.request_id],
      ])}
    />
    {entry.changes.length > 0 && <Table label="Changes" columns={CHANGES} rows={entry.changes} rowKey="field" />}
    <CloseButton />
  </Dialog>
)

/** The audit log, newest first. */
export const AuditPage = () => {
  const [{ actor, action, object, result }, change] = usePageState(DEFAULTS, WORDS)
  const everyones = useSession().data?.org_id === null
  const mayExport = useMay()('admin')
  const filters = {
    ...(actor !== '' && { actor }),
    ...(action !== '' && { action }),
    ...(object !== '' && { object }),
    ...(result !== '' && { result }),
  }
  const query = useApiPages('/api/v1/audit', { query: filters }, ({ entries }) => entries, WITHOUT_EVENTS)
  const exported = (format: string): string =>
    `/api/v1/audit/export?${new URLSearchParams({ ...filters, format }).toString()}`
  const field = (label: string, name: 'actor' | 'action' | 'object', value: string) => (
    <SearchField label={label} maxLength={255} value={value} onChange={(typed) => change({ [name]: typed })} />
  )
  return (
    <>
      <OrganizationHeader>
        <Aside>
          {mayExport && (
            <>
              <a href={exported('csv')} download>
                Download CSV
              </a>
              <a href={exported('jsonl')} download>
                Download JSON Lines
              </a>
            </>
          )}
          <VerifyAudit />
        </Aside>
      </OrganizationHeader>
      <Filters>
        {field('Who', 'actor', actor)}
        {field('Action', 'action', action)}
        {field('Object', 'object', object)}
        <Choice label="Result" value={result} options={RESULTS} onChange={(next) => change({ result: next })} />
      </Filters>
      <LoadedTable
        title="Audit log"
        query={query}
        columns={columnsOf(everyones)}
        rows={({ rows }) => rows}
        rowKey="id"
        {...query.scrolling}
        empty={
          <Empty title="No entry matches">Names and ids must match exactly; actions are matched by operation id.</Empty>
        }
      />
    </>
  )
}
