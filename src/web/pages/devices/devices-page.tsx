import { useDeferredValue } from 'react'
import { Link } from 'wouter'
import { PLATFORMS } from '../../../domain/device.ts'
import { type ResponseOf, useApiPages } from '../../api/use-api.ts'
import { Ago, Badge } from '../../parts/cells.tsx'
import { Choice, choices, SearchField } from '../../parts/form.tsx'
import { Aside, Empty, Filters, Loaded, PageHeader, Panel, Quiet } from '../../parts/layout.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { count, plural } from '../../text/format.ts'
import { deviceHref } from '../../url/hrefs.ts'
import { usePageState } from '../../url/use-page-state.ts'

type Device = ResponseOf<'/api/v1/fleet/devices'>['devices'][number]

const DEFAULTS = { q: '', status: '', platform: '', sort: 'device_id', desc: false }
const MAX_COUNTED = 100_000
/** For a search. */
const MAX_FOUND = 10_000
/** Twice what fits on a screen: the next page is requested before the end comes into view. */
const PAGE = 50

const STATUSES = [
  ['', 'Any status'],
  ['active', 'Active'],
  ['inactive', 'Inactive'],
] as const

const PLATFORM_CHOICES = choices('Any platform', PLATFORMS)

const COLUMNS: readonly Column<Device>[] = [
  {
    name: 'Device',
    sort: 'device_id',
    cell: ({ device_id, org_id }) => <Link href={deviceHref(device_id, org_id)}>{device_id}</Link>,
  },
  { name: 'Status', cell: ({ status }) => <Badge state={status === 'active' ? 'active' : 'inactive'} /> },
  { name: 'Platform', cell: ({ platform }) => platform },
  { name: 'Organization', cell: ({ org_id }) => org_id ?? <Quiet>none</Quiet> },
  { name: 'Trains', cell: ({ trains }) => (trains ? 'yes' : 'no') },
  {
    name: 'Last heartbeat',
    sort: 'last_seen',
    number: true,
    cell: ({ last_heartbeat }) => <Ago time={last_heartbeat} />,
  },
  { name: 'Registered', sort: 'created', number: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

const WORDS = {
  status: STATUSES,
  platform: PLATFORM_CHOICES,
  sort: COLUMNS.flatMap(({ sort, name }) => (sort === undefined ? [] : [[sort, name] as const])),
}

const total = (found: number | null | undefined, q: string): string => {
  if (found === null || found === undefined) return ''
  return found === (q === '' ? MAX_COUNTED : MAX_FOUND) ? `${count(found)} devices or more` : plural(found, 'device')
}

const NoDevices = ({ filtered }: { readonly filtered: boolean }) =>
  filtered ? (
    <Empty title="No device matches">Change the search or the filters.</Empty>
  ) : (
    <Empty title="No device is registered" command="svc devices invite">
      On a machine where svc is signed in, print the command that enrolls a device:
    </Empty>
  )

export const DevicesPage = () => {
  const [state, change] = usePageState(DEFAULTS, WORDS)
  const { status, platform, sort, desc } = state
  const q = useDeferredValue(state.q)
  const query = {
    q,
    sort: sort as 'device_id',
    order: desc ? ('desc' as const) : ('asc' as const),
    limit: PAGE,
    status: status as 'active',
    platform: platform as Device['platform'],
  }
  const pages = useApiPages('/api/v1/fleet/devices', { query }, ({ devices }) => devices)
  return (
    <>
      <PageHeader title="Devices">
        <Aside>
          <Quiet>{total(pages.data?.pages[0]?.total, q)}</Quiet>
        </Aside>
      </PageHeader>
      <Filters>
        <SearchField label="Search devices" value={state.q} onChange={(typed) => change({ q: typed })} />
        <Choice label="Status" value={status} options={STATUSES} onChange={(value) => change({ status: value })} />
        <Choice
          label="Platform"
          value={platform}
          options={PLATFORM_CHOICES}
          onChange={(value) => change({ platform: value })}
        />
      </Filters>
      <Loaded query={pages}>
        {({ rows }) => {
          if (rows.length === 0) return <NoDevices filtered={q !== '' || status !== '' || platform !== ''} />
          return (
            <Panel title="All devices" flush>
              <Table
                label="Devices"
                columns={COLUMNS}
                rows={rows}
                rowKey="id"
                sorting={{
                  by: sort,
                  descending: desc,
                  onChange: (by, descending) => change({ sort: by, desc: descending }),
                }}
                {...pages.scrolling}
              />
            </Panel>
          )
        }}
      </Loaded>
    </>
  )
}
