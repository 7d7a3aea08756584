import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { sha256Of } from './agents.ts'
import type { Installation } from './installation.ts'
import { type Records, violation } from './records.ts'
import type { Workload } from './workload.ts'

// What must hold at the end of a run, when everything is up again. Queries bypass the service.

type Query = (statement: string, values?: unknown[]) => Promise<Record<string, string>[]>

/** Rounds last one minute, a clock was two minutes ahead, and leases end within half a minute. */
const SETTLED_MS = 240_000
const ANSWER_MS = 60_000

/** Objects that still wait for something, by state; each has a deadline. */
const UNSETTLED = {
  rounds: `select id, status from rounds where status in ('active', 'aggregating')`,
  jobs: `select id, status from training_jobs where status in ('pending', 'running')`,
  conversions: `select model_id as id, state as status from conversions where state in ('pending', 'running')`,
  rollouts: `select id, status from rollouts where status in ('active', 'pending')`,
  'privacy ledger': `select round_id as id, status from privacy_ledger where status = 'reserved'`,
} as const

const settle = async (query: Query, records: Records): Promise<void> => {
  const deadline = Date.now() + SETTLED_MS
  for (const [what, statement] of Object.entries(UNSETTLED)) {
    for (;;) {
      const stuck = await query(statement)
      if (stuck.length === 0) break
      if (Date.now() > deadline) {
        for (const { id, status } of stuck)
          violation(records, 'no state beyond its deadline', `${what} ${id}: ${status}`)
        break
      }
      await wait(500)
    }
  }
}

/** Rows that contradict an invariant; each is one violation. */
const FORBIDDEN = {
  'one aggregate a round, and one only where it was completed': `
    select r.id, r.status, count(m.id) as models from rounds r left join models m on m.round_id = r.id
    group by r.id having count(m.id) <> case when r.status = 'completed' then 1 else 0 end`,
  "the aggregate is the round's": `
    select r.id, r.aggregated_sha256, v.sha256 from rounds r join model_versions v on v.model_id = r.aggregated_model_id
    where v.version = 1 and v.sha256 <> r.aggregated_sha256`,
  'one update a device': `
    select round_id as id, device_id, count(*) as updates from updates group by round_id, device_id having count(*) > 1`,
  'a round counts the updates that it has': `
    select r.id, r.completed_devices, count(u.id) as updates from rounds r left join updates u on u.round_id = r.id
    group by r.id having count(u.id) <> r.completed_devices`,
  'privacy is spent once for each private round': `
    select r.id, r.status, count(l.id) as entries from rounds r left join privacy_ledger l on l.round_id = r.id
    group by r.id having count(l.id) <> case when r.privacy is null then 0 else 1 end`,
  'privacy is spent by rounds': `
    select l.round_id as id, l.status from privacy_ledger l left join rounds r on r.id = l.round_id
    where r.id is null or l.status <> 'settled'`,
  'no device on a version nobody assigned': `
    select p.plan_id as id, p.device_id, p.version from plan_reports p left join rollouts r on r.id = p.plan_id
    where r.id is null or r.version <> p.version`,
  'files that are referred to are recorded': `
    select v.model_id as id, v.sha256 from model_versions v left join blobs b on b.sha256 = v.sha256 where b.sha256 is null`,
} as const

const missing = <Key>(expected: Iterable<Key>, found: ReadonlySet<Key>): Key[] =>
  [...expected].filter((key) => !found.has(key))

const checkRecords = async (query: Query, records: Records): Promise<void> => {
  const setOf = async (statement: string) => new Set((await query(statement)).map(({ key }) => key!))
  const lost = (what: string, keys: readonly string[]): void => {
    for (const key of keys) violation(records, 'no acknowledged write lost', `${what} ${key}`)
  }
  lost('group', missing(records.groups.values(), await setOf('select id::text as key from device_groups')))
  lost('rollout', missing(records.rollouts.keys(), await setOf('select id::text as key from rollouts')))
  lost('private round', missing(records.privateRounds, await setOf('select id::text as key from rounds')))
  const versions = [...records.versions.values()].map(({ sha256, version }) => `${version} ${sha256}`)
  const stored = `select version || ' ' || sha256 as key from model_versions`
  lost('version', missing(versions, await setOf(stored)))
  const updates = records.updates.map(({ roundId, device, sha256 }) => `${roundId} ${device} ${sha256}`)
  const counted = `select u.round_id || ' ' || d.device_id || ' ' || u.file_hash as key
    from updates u join devices d on d.id = u.device_id`
  lost('update', missing(updates, await setOf(counted)))
  const given = [...records.given.values()].map(({ planId, version, sha256 }) => `${planId} ${version} ${sha256}`)
  const assigned = `select r.id || ' ' || v.version || ' ' || v.sha256 as key from rollouts r
    join model_versions v on v.model_id = r.model_id and v.version_label = r.version`
  for (const key of missing(given, await setOf(assigned))) {
    violation(records, 'no device on a version nobody assigned', key)
  }
  const audited = await query(`select object_id as id, count(*) as entries from audit_entries
    where result = 'ok' and action in ('createGroup', 'createRollout') group by object_id`)
  const entries = new Map(audited.map(({ id, entries: n }) => [id!, Number(n)]))
  for (const id of [...records.groups.values(), ...records.rollouts.keys()]) {
    if (entries.get(id) !== 1) violation(records, 'audit chain whole', `${id} has ${entries.get(id) ?? 0} entries`)
  }
}

const checkEvents = async (query: Query, records: Records): Promise<void> => {
  const deadline = Date.now() + SETTLED_MS
  while (records.received.size === 0 && Date.now() < deadline) await wait(500)
  if (records.received.size === 0) return violation(records, 'deliveries at least once', 'no event has arrived')
  // Earlier events are older than the integration.
  const first = Math.min(...records.received)
  const pending = async (): Promise<number[]> => {
    const rows = await query('select id from events_outbox where id >= $1 order by id', [first])
    return rows.map(({ id }) => Number(id)).filter((id) => !records.received.has(id))
  }
  let waiting = await pending()
  for (; waiting.length > 0 && Date.now() < deadline; waiting = await pending()) await wait(500)
  for (const id of waiting) violation(records, 'deliveries at least once', `event ${id}`)
}

/** Downloads every stored version through the service, and replays rounds. */
const checkFiles = async (query: Query, { operator, records }: Workload, rounds: number): Promise<void> => {
  const versions = await query('select model_id, version, sha256 from model_versions order by uploaded_at')
  for (const { model_id, version, sha256 } of versions) {
    const path = `/models/${model_id}/versions/${version}/download`
    const deadline = Date.now() + ANSWER_MS
    // The last fault may still have effects: a lost connection, or a store that is starting.
    let file = await operator.bytes(path)
    for (; file === null && Date.now() < deadline; file = await operator.bytes(path)) await wait(500)
    if (file === null || file.status !== 200) {
      violation(records, 'no acknowledged write lost', `file of ${model_id} ${version}: ${file?.status ?? 'no answer'}`)
    } else if (sha256Of(file.bytes) !== sha256) violation(records, 'no byte changed', `${model_id} ${version}`)
  }
  const completed = await query(
    `select id from rounds where status = 'completed' and privacy is null order by random() limit ${rounds}`,
  )
  for (const { id } of completed) {
    const { status, body } = await operator.ask('POST', `/training/rounds/${id}/receipt/replay`)
    if (status !== 200 || body.matches !== true) {
      violation(records, 'no byte changed', `round ${id} aggregated again: ${status} ${JSON.stringify(body)}`)
    }
  }
}

/** Waits until everything has ended and checks the invariants; adds failures to the violations. */
export const checkInvariants = async (
  installation: Installation,
  workload: Workload,
  rounds: number,
): Promise<void> => {
  const { records, operator } = workload
  const database = new pg.Client(installation.databaseUrl)
  await database.connect()
  const query: Query = async (statement, values) => (await database.query(statement, values)).rows
  try {
    const jobs = await query(UNSETTLED.jobs)
    for (const { id } of jobs) await operator.ask('POST', `/training/jobs/${id}/stop`)
    await settle(query, records)
    for (const [invariant, statement] of Object.entries(FORBIDDEN)) {
      for (const row of await query(statement)) violation(records, invariant, JSON.stringify(row))
    }
    await checkRecords(query, records)
    const ends = await query(
      `select status || coalesce(': ' || failure_reason, '') as what, count(*) as times from rounds group by 1`,
    )
    for (const { what, times } of ends) records.counts.set(`rounds ${what}`, Number(times))
    await checkEvents(query, records)
    await checkFiles(query, workload, rounds)
    const { status, body } = await operator.ask('POST', '/audit/verify', {})
    if (status !== 200 || body.valid !== true) violation(records, 'audit chain whole', JSON.stringify(body))
  } finally {
    await database.end()
  }
}
