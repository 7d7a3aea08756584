import { Link } from 'wouter'
import type { ResponseOf } from '../../api/use-api.ts'
import { Ago, Badge, type Tone } from '../../parts/cells.tsx'
import { Empty } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import type { Column } from '../../parts/table.tsx'
import { measure, shortId } from '../../text/format.ts'
import { modelHref } from '../../url/hrefs.ts'

export type DeviceReport = ResponseOf<'/api/v1/devices/{device_id}/reports'>['reports'][number]

export const reportTone = (state: DeviceReport['state']): Tone =>
  state === 'active' ? 'good' : state === 'failed' ? 'bad' : 'busy'

/** Returns the page of the plan that assigned the version. */
export const planHref = ({ kind, plan_id, model_id }: Pick<DeviceReport, 'kind' | 'plan_id' | 'model_id'>): string => {
  if (kind === 'rollout') return `/delivery/rollouts/${model_id}/${plan_id}`
  return kind === 'deployment' ? `/delivery/deployments/${plan_id}` : `/experiments/${plan_id}`
}

export const versionName = ({
  model_name,
  model_id,
  version,
}: Pick<DeviceReport, 'model_name' | 'model_id' | 'version'>): string =>
  `${model_name ?? (model_id === null ? 'a model' : shortId(model_id))} ${version}`

const measured = (metrics: DeviceReport['metrics']): string =>
  Object.entries(metrics ?? {})
    .map(([name, value]) => `${name} ${measure(value)}`)
    .join(', ')

type Row = Omit<DeviceReport, 'state'> & { readonly state: DeviceReport['state'] | 'replaced' }

/** Newest first. A device runs only a model's last version reported as active; older ones become `replaced`. */
const withReplaced = (reports: readonly DeviceReport[]): Row[] => {
  const running = new Set<string | null>()
  return reports.map((report) => {
    if (report.state !== 'active' || report.model_id === null) return report
    const isReplaced = running.has(report.model_id)
    running.add(report.model_id)
    return isReplaced ? { ...report, state: 'replaced' } : report
  })
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'Version',
    cell: (report) =>
      report.model_id === null ? (
        versionName(report)
      ) : (
        <Link href={modelHref(report.model_id)}>{versionName(report)}</Link>
      ),
  },
  {
    name: 'State',
    cell: ({ state }) => <Badge state={state} tone={state === 'replaced' ? 'idle' : reportTone(state)} />,
  },
  { name: 'Assigned by', cell: (report) => <Link href={planHref(report)}>{report.kind}</Link> },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Measured', cell: ({ metrics }) => measured(metrics) },
  { name: 'Reported', number: true, cell: ({ reported_at }) => <Ago time={reported_at} /> },
]

/** The versions assigned to the device and its reports on them, newest first. */
export const DeviceVersions = ({ reports }: { readonly reports: readonly DeviceReport[] }) => (
  <TablePanel
    title="Reported versions"
    label="Versions"
    columns={COLUMNS}
    rows={withReplaced(reports)}
    rowKey="plan_id"
    empty={
      <Empty title="No version reported yet" command="svc deploy my-model">
        A device reports its progress with each version assigned to it:
      </Empty>
    }
  />
)
