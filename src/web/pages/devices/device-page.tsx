import { Link } from 'wouter'
import { ApiError } from '../../../client/client.ts'
import { type ResponseOf, useApi } from '../../api/use-api.ts'
import { Ago, Badge, Id } from '../../parts/cells.tsx'
import { Columns, Empty, Facts, Loaded, PageHeader, Panel, Quiet, useLastError } from '../../parts/layout.tsx'
import { Timeline } from '../../parts/timeline.tsx'
import { measure } from '../../text/format.ts'
import { deviceHref } from '../../url/hrefs.ts'
import { usePageState } from '../../url/use-page-state.ts'
import { DeviceGroups } from './device-groups.tsx'
import { DeviceHeartbeats } from './device-heartbeats.tsx'
import { DeviceRounds } from './device-rounds.tsx'
import { DeviceVersions, planHref } from './device-versions.tsx'
import { momentsOf } from './moments.ts'
import { deviceParams, useDeviceRounds } from './use-device-rounds.ts'

type Device = ResponseOf<'/api/v1/fleet/devices'>['devices'][number]

const DEFAULTS = { org: '' }

const show = (value: unknown): string => {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : measure(value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const Values = ({ title, values, none }: { title: string; values: Record<string, unknown> | null; none: string }) => {
  const entries = Object.entries(values ?? {})
  return (
    <Panel title={title}>
      {entries.length === 0 ? (
        <Quiet>{none}</Quiet>
      ) : (
        <Facts entries={entries.map(([name, value]) => [name, show(value)])} />
      )}
    </Panel>
  )
}

/** The live stream does not say which devices a plan or a report is about: there may be thousands per second. */
const REPORTS = { everyMs: 5000 } as const

const useAssignments = (device: Device) =>
  useApi('/api/v1/devices/{device_id}/assignments', deviceParams(device), REPORTS)

const Assignments = ({ device }: { readonly device: Device }) => {
  const assignments = useAssignments(device)
  return (
    <Panel title="Assigned versions">
      <Loaded query={assignments}>
        {(data) =>
          data.assignments.length === 0 ? (
            <Empty title="Nothing is assigned" command="svc deploy my-model">
              Assign a version with a rollout or a deployment:
            </Empty>
          ) : (
            <Facts
              entries={data.assignments.map((assignment) => [
                `${assignment.model_name ?? 'Model'} by ${assignment.kind}`,
                <Link key={assignment.plan_id} href={planHref(assignment)}>
                  version {assignment.version}
                </Link>,
              ])}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}

/** The device's history: its versions, its rounds, and a timeline of both. */
const Past = ({ device }: { readonly device: Device }) => {
  const { path, query } = deviceParams(device)
  const reports = useApi('/api/v1/devices/{device_id}/reports', { path, query: { ...query, limit: 100 } }, REPORTS)
  const rounds = useDeviceRounds(device)
  const assigned = useAssignments(device).data?.assignments.map(({ plan_id }) => plan_id)
  return (
    <Loaded query={reports}>
      {(data) => (
        <>
          <Columns>
            <Panel title="Timeline">
              <Timeline moments={momentsOf(device, data.reports, rounds.rows)} />
            </Panel>
            <DeviceGroups device={device} />
          </Columns>
          <DeviceVersions reports={data.reports} assigned={assigned} />
          {device.trains && <DeviceRounds rounds={rounds} />}
        </>
      )}
    </Loaded>
  )
}

/** Organizations may use the same device names. */
const Namesakes = ({ deviceId }: { readonly deviceId: string }) => {
  const query = useApi('/api/v1/fleet/devices', { query: { device_id: deviceId, limit: 500 } })
  return (
    <Panel title="Several organizations have a device with this name">
      <Loaded query={query}>
        {({ devices }) =>
          devices.map((device) => (
            <p key={device.id}>
              <Link href={deviceHref(deviceId, device.org_id ?? 'default')}>
                {`${deviceId} of ${device.org_id ?? 'no organization'}`}
              </Link>
            </p>
          ))
        }
      </Loaded>
    </Panel>
  )
}

/** A device: its properties, last report, assignments, and participation in the latest rounds. */
export const DevicePage = ({ deviceId }: { readonly deviceId: string }) => {
  const [{ org }] = usePageState(DEFAULTS)
  const query = useApi('/api/v1/devices/{device_id}', { path: { device_id: deviceId }, query: { org_id: org } })
  const error = useLastError(query)
  const isAmbiguous = error instanceof ApiError && error.status === 409
  return (
    <>
      <PageHeader title={deviceId} up={{ href: '/devices', label: 'Devices' }}>
        {query.data && <Badge state={query.data.status === 'active' ? 'active' : 'inactive'} />}
      </PageHeader>
      {isAmbiguous ? (
        <Namesakes deviceId={deviceId} />
      ) : (
        <Loaded query={query}>
          {(device) => (
            <>
              <Panel title="Device">
                <Facts
                  entries={[
                    ['Last heartbeat', <Ago key="heard" time={device.last_heartbeat} />],
                    ['Registered', <Ago key="registered" time={device.created_at} />],
                    ['Platform', device.platform],
                    ['Organization', device.org_id ?? 'none'],
                    ['Trains', device.trains ? 'yes' : 'no, it only runs models'],
                    ['Internal id', <Id key="id" id={device.id} />],
                  ]}
                />
              </Panel>
              <Columns>
                <Values title="Metrics" values={device.metrics} none="Its heartbeats report none." />
                <Values title="Capabilities" values={device.capabilities} none="It reports none." />
              </Columns>
              <DeviceHeartbeats device={device} />
              <Assignments device={device} />
              <Past device={device} />
            </>
          )}
        </Loaded>
      )}
    </>
  )
}
