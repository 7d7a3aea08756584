import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Route, Switch, useRoute } from 'wouter'
import { ApiError } from '../../../client/client.ts'
import { Unreachable } from '../../api/client.ts'
import { Empty, Loaded, PageHeader } from '../../parts/layout.tsx'
import { NotFound } from '../../parts/not-found.tsx'
import { type ApiDocument, groupsOf, operationsOf } from './document.ts'
import { OperationList } from './operation-list.tsx'
import { OperationPage } from './operation-page.tsx'
import { Overview } from './overview.tsx'
import styles from './reference.module.css'
import { SchemaPage } from './schema-page.tsx'

const Reference = ({ document }: { readonly document: ApiDocument }) => {
  const operations = useMemo(() => operationsOf(document), [document])
  const groups = useMemo(() => groupsOf(document, operations), [document, operations])
  const [atOverview] = useRoute('/docs')
  return (
    <div className={styles.reference} data-overview={atOverview}>
      <OperationList operations={operations} groups={groups} />
      <div className={styles.content}>
        <Switch>
          <Route path="/docs">
            <Overview document={document} groups={groups} />
          </Route>
          <Route path="/docs/schemas/:name">{({ name }) => <SchemaPage document={document} name={name} />}</Route>
          <Route path="/docs/:id">
            {({ id }) => {
              const operation = operations.find((one) => one.id === id)
              if (operation !== undefined) return <OperationPage key={id} document={document} operation={operation} />
              return (
                <>
                  <PageHeader title="No such operation" up={{ href: '/docs', label: 'All operations' }} />
                  <Empty title="The API has no operation with this name">Search for it in the list.</Empty>
                </>
              )
            }}
          </Route>
          <Route component={NotFound} />
        </Switch>
      </div>
    </div>
  )
}

/** The API document of the service that serves this page. */
const useDocument = (): UseQueryResult<ApiDocument> =>
  useQuery({
    queryKey: ['/openapi.json', {}],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await fetch('/openapi.json', { signal }).catch((error: unknown) => {
        throw signal.aborted ? error : new Unreachable('read', error)
      })
      if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null))
      return (await response.json()) as ApiDocument
    },
  })

/** The API reference, generated from the service's own document. */
export const Area = () => {
  const query = useDocument()
  return (
    <>
      {query.data === undefined && <PageHeader title="API" />}
      <Loaded query={query}>{(document) => <Reference document={document} />}</Loaded>
    </>
  )
}
