import { Link } from 'wouter'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { DialogButton } from '../../parts/dialog.tsx'
import { Empty } from '../../parts/layout.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { count } from '../../text/format.ts'
import { CreateIntegration } from './create-integration.tsx'

export type Integration = ResponseOf<'/api/v1/integrations'>['integrations'][number]

/** The live stream does not report the end of a delivery. */
export const POLL_INTERVAL_MS = 5000

export const IntegrationBadge = ({ status }: Pick<Integration, 'status'>) => (
  <Badge state={status} {...(status === 'failing' && { tone: 'bad' as const })} />
)

const COLUMNS: readonly Column<Integration>[] = [
  { name: 'Name', cell: ({ id, name }) => <Link href={`/integrations/${id}`}>{name}</Link> },
  { name: 'Sends', cell: ({ kind, type }) => `${kind} via ${type}` },
  { name: 'Status', cell: IntegrationBadge },
  { name: 'Pending events', number: true, cell: ({ pending }) => count(pending) },
  { name: 'Dead letters', number: true, cell: ({ dead_letters }) => count(dead_letters) },
  { name: 'Last delivery', number: true, cell: ({ delivered_at }) => <Ago time={delivered_at} /> },
  { name: 'Endpoint', cell: ({ endpoint }) => endpoint },
]

/** The receivers of this organization's events and metrics. */
export const IntegrationsPage = () => (
  <ListPage
    title="Integrations"
    query={useApi('/api/v1/integrations', {}, { everyMs: POLL_INTERVAL_MS })}
    actions={
      <DialogButton needs="admin" tone="primary" dialog={<CreateIntegration />}>
        Create integration
      </DialogButton>
    }
    columns={COLUMNS}
    rows={({ integrations }) => integrations}
    rowKey="id"
    empty={
      <Empty title="No integrations yet" command="svc integrations connect-otlp --endpoint http://localhost:4318">
        Send events and metrics to Prometheus, an OpenTelemetry Collector, Datadog, Splunk, a webhook, and others:
      </Empty>
    }
  />
)
