import { useMay } from '../../api/session.ts'
import { useApi } from '../../api/use-api.ts'
import { Columns, Figures, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { Sparkline } from '../../parts/meter.tsx'
import { count, percent, plural } from '../../text/format.ts'
import { Attention } from './attention.tsx'
import { LoadedParts } from './loaded-parts.tsx'
import { MODELS, STATUS, SUMMARY } from './reads.ts'
import { Recent } from './recent.tsx'
import { Running } from './running.tsx'

const Fleet = ({ models: seesModels }: { readonly models: boolean }) => {
  const summary = useApi(...SUMMARY, { everyMs: 30_000 })
  const status = useApi(...STATUS)
  const models = useApi(...MODELS, { enabled: seesModels })
  return (
    <Loaded query={summary}>
      {({ total, active, last_heard, platforms }) => (
        <>
          <LoadedParts queries={seesModels ? [status, models] : [status]}>
            <Figures
              entries={[
                ['Devices', count(total)],
                [
                  'Active in the last 5 min',
                  <>
                    {count(active)} {total > 0 && <small>{percent(active / total, 0)}</small>}
                  </>,
                ],
                ['Inactive', count(total - active)],
                ['Models', count(models.data?.total)],
                [
                  'Latest round',
                  status.data?.current_round_number == null ? (
                    '–'
                  ) : (
                    <>
                      {count(status.data.current_round_number)} <small>{status.data.current_round_status}</small>
                    </>
                  ),
                ],
              ]}
            />
          </LoadedParts>
          {total > 0 && (
            <Columns>
              <Panel title="Last heartbeat" aside="devices by minute, last 60 minutes">
                <Sparkline
                  label={`Devices by the minute of their last heartbeat: ${plural(last_heard[0] ?? 0, 'device')} within the last minute.`}
                  values={[...last_heard].reverse()}
                />
              </Panel>
              <Panel title="Platforms">
                {platforms.map(({ platform, total: all, active: now }) => (
                  <p key={platform}>
                    {platform} <Quiet>{`${count(all)}, ${count(now)} active`}</Quiet>
                  </p>
                ))}
              </Panel>
            </Columns>
          )}
        </>
      )}
    </Loaded>
  )
}

export { preload } from './reads.ts'

/** The fleet now, work in progress, what needs attention, and recent changes. */
export const Area = () => {
  const may = useMay()
  const training = may('training:read')
  const models = may('models:read')
  return (
    <>
      <PageHeader title="Home" />
      {may('devices:read') ? (
        <Fleet models={models} />
      ) : (
        <Panel title="Fleet">
          <Quiet>You cannot see devices: that requires the scope devices:read.</Quiet>
        </Panel>
      )}
      {(training || models) && (
        <>
          <Columns>
            <Attention training={training} models={models} />
            <Running training={training} models={models} />
          </Columns>
          <Recent training={training} models={models} />
        </>
      )}
    </>
  )
}
