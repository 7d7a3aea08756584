import { type ReactNode, useState } from 'react'
import type { AuditResult } from '../../../domain/audit.ts'
import { AUDIT_RESULTS } from '../../../domain/audit.ts'
import type { AnswerOf } from '../../api/paths.ts'
import { useApiPages } from '../../api/use-api.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Aside, Button, Choice, Empty, Facts, Filters, Loaded, Panel, SearchField } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { exact, shortId } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { OrganizationHeader } from './organization-header.tsx'
import { VerifyAudit } from './verify-audit.tsx'

type Entry = AnswerOf<'/api/v1/audit'>['entries'][number]
type FieldChange = Entry['changes'][number]

const DEFAULTS: { readonly actor: string; readonly action: string; readonly object: string; readonly result: string } =
  { actor: '', action: '', object: '', result: '' }
const RESULTS = [['', 'Any result'], ...AUDIT_RESULTS.map((result) => [result, result] as const)] as const
const TONES: Readonly<Record<AuditResult, Tone>> = { ok: 'good', refused: 'warn', failed: 'bad' }

const actorOf = ({ actor_kind, actor_name, actor_id }: Entry): string =>
  actor_name ?? (actor_id === null ? actor_kind : `${actor_kind} ${shortId(actor_id)}`)
const objectOf = ({ object_kind, object_name, object_id }: Entry): string =>
  object_kind === null ? '' : `${object_kind} ${object_name ?? shortId(object_id ?? '')}`

const columnsOf = (onShow: (entry: Entry) => void): readonly Column<Entry>[] => [
  { name: 'Number', number: true, cell: ({ seq }) => seq },
  { name: 'When', number: true, cell: ({ at }) => <Ago time={at} /> },
  { name: 'Who', cell: actorOf },
  { name: 'Action', cell: ({ action }) => <code>{action}</code> },
  { name: 'Object', cell: objectOf },
  { name: 'Result', cell: ({ result }) => <Badge state={result} tone={TONES[result]} /> },
  {
    name: 'Details',
    cell: (entry) => (
      <Button aria-label={`Show entry ${entry.seq}`} onClick={() => onShow(entry)}>
        Show
      </Button>
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

const Details = ({ entry, onClose }: { readonly entry: Entry; readonly onClose: () => void }) => (
  <Dialog title={`Entry ${entry.seq}`} open onClose={onClose}>
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
    {entry.changes.length > 0 && (
      <Table label="Changes" columns={CHANGES} rows={entry.changes} rowKey={({ field }) => field} />
    )}
    <Button onClick={onClose}>Close</Button>
  </Dialog>
)

/** Who did what, newest first. */
export const AuditPage = () => {
  const [{ actor, action, object, result }, change] = usePageState(DEFAULTS)
  const [shown, setShown] = useState<Entry | null>(null)
  const isResult = (AUDIT_RESULTS as readonly string[]).includes(result)
  const filters = {
    ...(actor !== '' && { actor }),
    ...(action !== '' && { action }),
    ...(object !== '' && { object }),
    ...(isResult && { result: result as AuditResult }),
  }
  const query = useApiPages('/api/v1/audit', { query: filters })
  const exported = (format: string): string =>
    `/api/v1/audit/export?${new URLSearchParams({ ...filters, format }).toString()}`
  const field = (label: string, name: 'actor' | 'action' | 'object', value: string) => (
    <SearchField
      label={label}
      maxLength={255}
      value={value}
      onChange={(event) => change({ [name]: event.target.value })}
    />
  )
  return (
    <>
      <OrganizationHeader>
        <Aside>
          <a href={exported('csv')} download>
            CSV
          </a>
          <a href={exported('jsonl')} download>
            JSON lines
          </a>
          <VerifyAudit />
        </Aside>
      </OrganizationHeader>
      <Filters>
        {field('Who', 'actor', actor)}
        {field('Action', 'action', action)}
        {field('Object', 'object', object)}
        <Choice
          label="Result"
          value={isResult ? (result as AuditResult) : ''}
          options={RESULTS}
          onChange={(next) => change({ result: next })}
        />
      </Filters>
      <Loaded query={query}>
        {({ pages }) => {
          const entries = pages.flatMap((each) => each.entries)
          return (
            <Panel title="Audit log" flush>
              {entries.length === 0 ? (
                <Empty title="No entry fits">
                  Names and ids are compared as a whole, actions by their operation id.
                </Empty>
              ) : (
                <Table
                  label="Audit log"
                  columns={columnsOf(setShown)}
                  rows={entries}
                  rowKey={({ id }) => String(id)}
                  onEnd={query.hasNextPage ? query.fetchNextPage : undefined}
                />
              )}
            </Panel>
          )
        }}
      </Loaded>
      {shown && <Details entry={shown} onClose={() => setShown(null)} />}
    </>
  )
}
