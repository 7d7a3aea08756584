import { type MouseEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { api, write } from '../../api/client.ts'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Ago } from '../../parts/cells.tsx'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { Outcome } from '../../parts/form.tsx'
import { Aside, Button, Facts, Loaded, PageHeader, Panel, Problem } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { useAction } from '../../parts/use-action.ts'
import { count, plural } from '../../text/format.ts'
import { type Integration, IntegrationBadge, POLL_INTERVAL_MS } from './integrations-page.tsx'

type DeadLetter = ResponseOf<'/api/v1/integrations/{integration_id}/dead-letters'>['dead_letters'][number]

const COLUMNS: readonly Column<DeadLetter>[] = [
  { name: 'Event', cell: ({ type }) => type },
  { name: 'At', number: true, cell: ({ at }) => <Ago time={at} /> },
  { name: 'Reason', cell: ({ reason }) => reason },
]

const AT = '/api/v1/integrations/{integration_id}'

const paramsOf = ({ id }: Integration) => ({ params: { path: { integration_id: id } } })

const test = async (integration: Integration): Promise<string> => {
  const { ok, status, response, milliseconds } = await write(api.POST(`${AT}/test`, paramsOf(integration)))
  return `${ok ? 'Accepted' : 'Not accepted'}${status === null ? '' : ` with ${status}`} after ${count(milliseconds)} ms: ${response || 'an empty response'}`
}

const replay = async (integration: Integration): Promise<string> => {
  const { delivered, remaining, error } = await write(api.POST(`${AT}/replay`, paramsOf(integration)))
  return `${plural(delivered, 'event')} delivered, ${count(remaining)} left${error === null ? '.' : `: ${error}`}`
}

/** Buttons, and the result of the last action. */
const Actions = ({ integration }: { readonly integration: Integration }) => {
  const [, navigate] = useLocation()
  const { busy, error, run } = useAction()
  const [message, setMessage] = useState('')
  const say = (act: (of: Integration) => Promise<string>) => (click: MouseEvent) => {
    // The second click of a double click would undo the first, as the button says the opposite by then.
    if (click.detail > 1) return
    run(async () => {
      setMessage('')
      setMessage(await act(integration))
    })
  }
  const switchTo = (action: 'pause' | 'resume') => async () => {
    await write(api.POST(`${AT}/${action}`, paramsOf(integration)))
    return action === 'pause' ? 'Paused: events are kept for 24 hours.' : 'Resumed.'
  }
  const isPaused = integration.status === 'paused'
  return (
    <>
      {/* Before the buttons, so that none of them moves below the pointer of a double click. */}
      {error ? <Problem error={error} /> : message !== '' && <Outcome>{message}</Outcome>}
      <Aside>
        <Button needs="admin" disabled={busy} onClick={say(test)}>
          Send a sample
        </Button>
        <Button needs="admin" disabled={busy} onClick={say(switchTo(isPaused ? 'resume' : 'pause'))}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
        {integration.dead_letters > 0 && (
          <Button needs="admin" disabled={busy} onClick={say(replay)}>
            Replay dead letters
          </Button>
        )}
        <ConfirmButton
          button={{ needs: 'admin', tone: 'danger' }}
          title={`Delete ${integration.name}?`}
          verb="Delete"
          act={() => write(api.DELETE(AT, paramsOf(integration)), () => navigate('/integrations'))}
        >
          {plural(integration.pending, 'pending event')} and {plural(integration.dead_letters, 'dead letter')} are
          deleted too.
        </ConfirmButton>
      </Aside>
    </>
  )
}

const DeadLetters = ({ integration }: { readonly integration: Integration }) => {
  const { params } = paramsOf(integration)
  const query = useApi('/api/v1/integrations/{integration_id}/dead-letters', params, { everyMs: POLL_INTERVAL_MS })
  return (
    <Loaded query={query}>
      {({ dead_letters: rows }) =>
        rows.length > 0 && (
          <TablePanel
            title="Dead letters"
            aside="events that the receiver rejected permanently"
            columns={COLUMNS}
            rows={rows}
            rowKey="id"
          />
        )
      }
    </Loaded>
  )
}

export const IntegrationPage = ({ integrationId }: { readonly integrationId: string }) => {
  const params = { path: { integration_id: integrationId } }
  const query = useApi('/api/v1/integrations/{integration_id}', params, { everyMs: POLL_INTERVAL_MS })
  return (
    <>
      <PageHeader title={query.data?.name ?? 'Integration'} up={{ href: '/integrations', label: 'Integrations' }}>
        {query.data && (
          <>
            <IntegrationBadge status={query.data.status} />
            <Actions integration={query.data} />
          </>
        )}
      </PageHeader>
      <Loaded query={query}>
        {(integration) => (
          <>
            <Panel title="Deliveries">
              <Facts
                entries={[
                  ['Sends', `${integration.kind} via ${integration.type}`],
                  ['Endpoint', integration.endpoint],
                  ['Last delivery', <Ago key="delivered" time={integration.delivered_at} />],
                  ['Pending events', count(integration.pending)],
                  ['Consecutive failures', count(integration.failures)],
                  ['Last error', integration.last_error ?? 'none'],
                  ['Configured', Object.keys(integration.config).join(', ') || 'none'],
                ]}
              />
            </Panel>
            {integration.kind !== 'metrics' && <DeadLetters integration={integration} />}
          </>
        )}
      </Loaded>
    </>
  )
}
