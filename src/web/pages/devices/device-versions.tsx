import { Link } from 'wouter'
import type { ResponseOf } from '../../api/use-api.ts'
import { Ago, Badge, type Tone } from '../../parts/cells.tsx'
import { Empty, Quiet } from '../../parts/layout.tsx'
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

interface Row extends Omit<DeviceReport, 'state'> {
  readonly state: DeviceReport['state'] | 'replaced'
  /** True if the plan was withdrawn or replaced: the device stops running the version, and does not report that. */
  readonly isOver?: boolean
}

/** Newest first. A device runs only a model's last version reported as active; older ones become `replaced`. */
const rowsOf = (reports: readonly DeviceReport[], assigned: readonly string[] | undefined): Row[] => {
  const running = new Set<string | null>()
  return reports.map((report) => {
    if (report.state !== 'active' || report.model_id === null) return report
    const isReplaced = running.has(report.model_id)
    running.add(report.model_id)
    if (isReplaced) return { ...report, state: 'replaced' }
    return { ...report, isOver: assigned !== undefined && !assigned.includes(report.plan_id) }
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
    cell: ({ state, isOver = false }) => (
      <>
        <Badge state={state} tone={state === 'replaced' || isOver ? 'idle' : reportTone(state)} />
        {isOver && <Quiet> no longer assigned</Quiet>}
      </>
    ),
  },
  { name: 'Assigned by', cell: (report) => <Link href={planHref(report)}>{report.kind}</Link> },
  { name: 'Reason', cell: ({ reason }) => reason ?? '' },
  { name: 'Measured', cell: ({ metrics }) => measured(metrics) },
  { name: 'Reported', number: true, cell: ({ reported_at }) => <Ago time={reported_at} /> },
]

interface DeviceVersionsProps {
  readonly reports: readonly DeviceReport[]
  /** The plans that assign it versions now; undefined until they are loaded. */
  readonly assigned: readonly string[] | undefined
}

/** The device's reports on the versions that were assigned to it, newest first. */
export const DeviceVersions = ({ reports, assigned }: DeviceVersionsProps) => (
  <TablePanel
    title="Reported versions"
    label="Versions"
    columns={COLUMNS}
    rows={rowsOf(reports, assigned)}
    rowKey="plan_id"
    empty={
      <Empty title="No version reported yet" command="svc deploy my-model">
        A device reports its progress with each version assigned to it:
      </Empty>
    }
  />
)
