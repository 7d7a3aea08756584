import { shellWord } from '../../../domain/shell-word.ts'
import { useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { Button, Empty, Loaded, Panel } from '../../parts/layout.tsx'
import { LoadedTable } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count } from '../../text/format.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { AnalyticsForm } from './analytics-form.tsx'
import { AnalyticsResult } from './analytics-result.tsx'
import { FederationHeader } from './federation-header.tsx'
import { type Federation, OTHERS, type Query } from './federation-records.ts'
import { useRole } from './role.ts'
import { useGroupNames } from './use-group-names.ts'

const DEFAULTS = { query: '' }
const LATEST = 20

const KIND: Readonly<Record<Query['query_type'], string>> = {
  descriptive: 'Description',
  't-test': 'Two groups',
  anova: 'All groups',
  'chi-square': 'Two variables',
}

const columnsFor = (shown: string, onShow: (id: string) => void): readonly Column<Query>[] => [
  { name: 'Query', cell: ({ query_type }) => KIND[query_type] },
  { name: 'Variable', cell: ({ variable }) => variable },
  { name: 'Run by', cell: ({ org_id }) => org_id ?? '' },
  { name: 'Status', cell: ({ status }) => <Badge state={status} /> },
  { name: 'Created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
  {
    name: 'Result',
    cell: (query) =>
      query.id === shown ? (
        'shown above'
      ) : (
        <Button onClick={() => onShow(query.id)} aria-label={`Show ${KIND[query.query_type]} of ${query.variable}`}>
          Show
        </Button>
      ),
  },
]

const Analytics = ({ federation }: { readonly federation: Federation }) => {
  const [state, change] = usePageState(DEFAULTS)
  const names = useGroupNames(federation)
  const path = { federation_id: federation.id }
  const queries = useApi(
    '/api/v1/federations/{federation_id}/analytics/queries',
    { path, query: { limit: LATEST } },
    OTHERS,
  )
  const total = queries.data?.total ?? 0
  const shown = state.query === '' ? (queries.data?.queries[0]?.id ?? '') : state.query
  const query = useApi(
    '/api/v1/federations/{federation_id}/analytics/queries/{query_id}',
    { path: { ...path, query_id: shown } },
    { enabled: shown !== '' },
  )
  return (
    <>
      <AnalyticsForm federation={federation} names={names} onResult={(id) => change({ query: id })} />
      {shown !== '' && <Loaded query={query}>{(data) => <AnalyticsResult query={data} names={names} />}</Loaded>}
      <LoadedTable
        title="Queries"
        aside={total > LATEST ? `the latest ${LATEST} of ${count(total)}` : 'of all members'}
        query={queries}
        columns={columnsFor(shown, (id) => change({ query: id }))}
        rows={(data) => data.queries}
        rowKey="id"
        empty={
          <Empty
            title="No queries yet"
            command={`svc analytics describe ${shellWord(federation.name)} local_accuracy --group-by federation_member`}
          >
            Run one here, or with:
          </Empty>
        }
      />
    </>
  )
}

const OfMembers = ({ federation }: { readonly federation: Federation }) =>
  useRole(federation).isMember ? (
    <Analytics federation={federation} />
  ) : (
    <Panel title="Analytics">
      <Empty title="Join first">Only members see statistics.</Empty>
    </Panel>
  )

/** Statistics on the devices of a federation's members. */
export const AnalyticsPage = ({ federationId }: { readonly federationId: string }) => {
  const query = useApi('/api/v1/federations/{federation_id}', { path: { federation_id: federationId } })
  return (
    <>
      <FederationHeader federation={query.data} />
      <Loaded query={query}>{(federation) => <OfMembers federation={federation} />}</Loaded>
    </>
  )
}
