import { entry } from '../command.ts'
import { AUDIT_FILTERS } from './audit-filters.ts'
import { action, argument, option, type Resource, type Row } from './resource.ts'

const named = (name: string, kind: string, id: string) => (row: Row) =>
  row[name] ?? (row[id] === null ? row[kind] : `${row[kind]} ${row[id]}`)

const changed = (row: Row): string =>
  (row.changes as readonly { field: string; from: string | null; to: string | null }[])
    .map(({ field, from, to }) => `${field}: ${from ?? '-'} > ${to ?? '-'}`)
    .join(', ')
    .slice(0, 80)

export const audit: Resource = {
  name: 'audit',
  summary: 'list, export, and verify the audit log',
  actions: [
    action('list', 'list the latest entries of the audit log', 'GET /api/v1/audit', {
      options: AUDIT_FILTERS,
      rows: 'entries',
      columns: [
        ['ID', 'id'],
        ['AT', 'at', 'time'],
        ['WHO', named('actor_name', 'actor_kind', 'actor_id')],
        ['ACTION', 'action'],
        ['OBJECT', named('object_name', 'object_kind', 'object_id')],
        ['RESULT', 'result'],
        ['ADDRESS', 'address'],
        ['CHANGES', changed],
      ],
      none: 'No entries.',
    }),
    action('show', 'show an entry of the audit log', 'GET /api/v1/audit/{entry_id}', {
      args: [argument('entry', 'the id of an entry', { field: 'entry_id' })],
    }),
    action('erase', 'erase a name from the audit log', 'DELETE /api/v1/audit/names/{name_kind}/{name_id}', {
      args: [
        argument('kind', 'person, key, device, or another kind, as shown in the entries', { field: 'name_kind' }),
        argument('id', 'its id in the entries', { field: 'name_id' }),
      ],
      options: [
        option('--org <org_id>', 'organization of the entries, for keys that see several', 'org_id', { at: 'query' }),
      ],
      confirm: 'Permanently erasing the name of the {kind} {id}',
      done: 'Erased. The entries remain, with the id instead of the name.',
    }),
    entry('export', 'print the audit log', () => import('./audit-export.command.ts')),
    entry('verify', 'check that no entry was changed or deleted', () => import('./audit-verify.command.ts')),
  ],
}
