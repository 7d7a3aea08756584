import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { AnswerOf } from '../../api/paths.ts'
import { useApi } from '../../api/use-api.ts'
import { Badge } from '../../parts/badge.tsx'
import { Aside, Button, Empty, Loaded, PageHeader, Panel } from '../../parts/layout.tsx'
import { Ago } from '../../parts/now.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count } from '../../text/format.ts'
import { CreateIntegration } from './create-integration.tsx'
import { WebhookSecret } from './webhook-secret.tsx'

export type Integration = AnswerOf<'/api/v1/integrations'>['integrations'][number]

/** Deliveries end while the page is open, and no event says so. */
export const LOOK_EVERY_MS = 5000

export const IntegrationBadge = ({ status }: Pick<Integration, 'status'>) => (
  <Badge state={status} {...(status === 'failing' && { tone: 'bad' as const })} />
)

const COLUMNS: readonly Column<Integration>[] = [
  { name: 'Name', cell: ({ id, name }) => <Link href={`/integrations/${id}`}>{name}</Link> },
  { name: 'Sends', cell: ({ kind, type }) => `${kind} by ${type}` },
  { name: 'Status', cell: IntegrationBadge },
  { name: 'Pending', number: true, cell: ({ pending }) => count(pending) },
  { name: 'Dead letters', number: true, cell: ({ dead_letters }) => count(dead_letters) },
  { name: 'Delivered', number: true, cell: ({ delivered_at }) => <Ago time={delivered_at} /> },
  { name: 'Endpoint', cell: ({ endpoint }) => endpoint },
]

/** The receivers of this organization's events and figures. */
export const IntegrationsPage = () => {
  const [, navigate] = useLocation()
  const [creating, setCreating] = useState(false)
  const [made, setMade] = useState<{ readonly id: string; readonly secret: string } | null>(null)
  const query = useApi('/api/v1/integrations', {}, { everyMs: LOOK_EVERY_MS })
  return (
    <>
      <PageHeader title="Integrations">
        <Aside>
          <Button tone="primary" onClick={() => setCreating(true)}>
            Create integration
          </Button>
        </Aside>
      </PageHeader>
      <Loaded query={query}>
        {({ integrations }) => (
          <Panel title="All integrations" flush>
            {integrations.length === 0 ? (
              <Empty
                title="No integration yet"
                command="svc integrations connect-otlp --endpoint http://localhost:4318"
              >
                Events and figures go to Prometheus, an OpenTelemetry Collector, Datadog, Splunk, a webhook and others:
              </Empty>
            ) : (
              <Table label="Integrations" columns={COLUMNS} rows={integrations} rowKey={({ id }) => id} />
            )}
          </Panel>
        )}
      </Loaded>
      {creating && (
        <CreateIntegration
          onMade={({ id, secret }) => (secret === null ? navigate(`/integrations/${id}`) : setMade({ id, secret }))}
          onClose={() => setCreating(false)}
        />
      )}
      {made && <WebhookSecret secret={made.secret} onClose={() => navigate(`/integrations/${made.id}`)} />}
    </>
  )
}
