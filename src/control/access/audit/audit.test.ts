import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { freshDataDir, hasPostgres } from '../../../../test/databases.ts'
import { startWorld } from '../../../../test/world.ts'
import { readConfig } from '../../../config.ts'
import { SCOPES } from '../../../domain/access.ts'
import { createControlPlane } from '../../app.ts'

interface Entry {
  readonly id: number
  readonly org_id: string | null
  readonly seq: number
  readonly actor_kind: string
  readonly actor_id: string | null
  readonly actor_name: string | null
  readonly address: string | null
  readonly action: string
  readonly object_kind: string | null
  readonly object_id: string | null
  readonly object_name: string | null
  readonly changes: readonly { readonly field: string; readonly from: string | null; readonly to: string | null }[]
  readonly result: string
  readonly status: number | null
  readonly request_id: string
}
interface Made {
  readonly id: string
  readonly api_key: string
}
interface Verification {
  readonly valid: boolean
  readonly chains: readonly {
    readonly org_id: string | null
    readonly fault: string | null
    readonly entries: number
  }[]
}

const ORGS = ['acme', 'beta'] as const

const openWorld = async (database?: 'embedded' | 'postgres') => {
  const world = await startWorld({ ...(database && { database }), config: { enrollment: 'token' } })
  const root = world.service.firstAdminKey!
  const call = async <T>(key: string, method: string, path: string, body?: unknown): Promise<T> => {
    const response = await world.request(method, `/api/v1${path}`, { key, body })
    expect([path, response.status < 300, response.status < 300 ? null : response.body]).toEqual([path, true, null])
    return response.body as T
  }
  const adminOf = (org_id: string): Promise<Made> =>
    call(root, 'POST', '/keys', { name: `${org_id} admin`, org_id, scopes: ['admin', 'devices:write', 'devices:read'] })
  const entries = async (key: string, query = ''): Promise<readonly Entry[]> =>
    (await call<{ entries: Entry[] }>(key, 'GET', `/audit${query}`)).entries
  const verify = (key: string, body: object = {}): Promise<Verification> => call(key, 'POST', '/audit/verify', body)
  return { world, root, call, adminOf, entries, verify, db: world.database!.sql }
}

const faultsIn = ({ chains }: Verification) =>
  chains.flatMap(({ org_id, fault }) => (fault === null ? [] : [[org_id, fault]]))

describe.each(['embedded', 'postgres'] as const)('on %s', (database) => {
  const it = database === 'postgres' && !hasPostgres() ? test.skip : test
  it('every change has exactly one entry despite overlapping requests, disconnects, and requests without changes', async () => {
    const { world, root, adminOf, verify, db } = await openWorld(database)
    const admins = await Promise.all(ORGS.map(adminOf))
    const { port } = new URL(world.baseUrl)
    const hangUp = async (key: string, group: object, moment: number) => {
      const body = JSON.stringify(group)
      const socket = connect(Number(port), '127.0.0.1')
      const request =
        `POST /api/v1/device-groups HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
      const sent = new Promise((resolve) => socket.write(request, resolve))
      // Some disconnect before they have sent anything, and some as soon as the response begins.
      if (moment === 4) await once(socket, 'data')
      else if (moment > 0) await sent
      await sleep(moment % 4)
      socket.destroy()
    }
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const { api_key: key } = admins[n % 2]!
        const org_id = ORGS[n % 2]
        await sleep(n % 7)
        await Promise.all([
          world.request('POST', '/api/v1/device-groups', { key, body: { org_id, name: `stays ${n}` } }),
          hangUp(key, { org_id, name: `left ${n}` }, n % 5),
          world.request('GET', '/api/v1/device-groups', { key }),
          world.request('POST', '/api/v1/device-groups', { key, body: { org_id, name: '' } }),
        ])
      }),
    )
    // Changes and entries are committed together, so this holds at any moment, even while other requests are running.
    const idOf = { acme: admins[0]!.id, beta: admins[1]!.id } as Readonly<Record<string, string>>
    const countOf = async (beginning: string): Promise<number> => {
      const { rows } = await sql<{ name: string; org_id: string; actors: string[] }>`
        select g.name, g.org_id, array(
          select e.actor_id from audit_entries e where e.object_id = g.id::text and e.org_id = g.org_id
        ) as actors from device_groups g`.execute(db)
      expect(rows.filter(({ org_id, actors }) => actors.join() !== idOf[org_id])).toEqual([])
      return rows.filter(({ name }) => name.startsWith(beginning)).length
    }
    expect(await countOf('stays')).toBe(40)
    await expect.poll(() => countOf('left')).toBeGreaterThan(0)
    expect(faultsIn(await verify(root))).toEqual([])
  })

  it('fifty concurrent requests make one chain, and none waits forever', async () => {
    const { world, adminOf, entries, verify } = await openWorld(database)
    const acme = await adminOf('acme')
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        world.request('POST', '/api/v1/keys', {
          key: acme.api_key,
          body: { name: `key ${at}`, scopes: ['devices:read'] },
        }),
      ),
    )
    expect(responses.filter(({ status }) => status !== 201)).toEqual([])
    const found = await entries(acme.api_key, '?action=createKey')
    expect(found).toHaveLength(51)
    expect(new Set(found.map(({ object_id }) => object_id)).size).toBe(51)
    expect(await verify(acme.api_key)).toMatchObject({ valid: true, chains: [{ entries: 51 }] })
  })
})

test('an entry records who did what to which object, from where, and with what result', async () => {
  const { world, root, call, adminOf, entries, verify } = await openWorld()
  const acme = await adminOf('acme')
  const group = await call<Made>(acme.api_key, 'POST', '/device-groups', { org_id: 'acme', name: 'lab' })
  await world.request('PUT', `/api/v1/device-groups/${group.id}`, {
    key: acme.api_key,
    body: { name: 'laboratory' },
    headers: { 'x-request-id': 'request-1' },
  })
  const [newest] = await entries(acme.api_key)
  expect(newest).toMatchObject({
    org_id: 'acme',
    seq: 3,
    actor_kind: 'key',
    actor_id: acme.id,
    actor_name: 'acme admin',
    address: '127.0.0.1',
    action: 'updateGroup',
    object_kind: 'group',
    object_id: group.id,
    object_name: 'laboratory',
    changes: [{ field: 'name', from: '"lab"', to: '"laboratory"' }],
    result: 'ok',
    status: null,
    request_id: 'request-1',
  })
  expect(await entries(root, '?action=createKey&object=acme+admin')).toHaveLength(1)
  expect(await verify(root)).toMatchObject({ valid: true, chains: [{ org_id: 'acme', entries: 3 }] })
})

test('manual edits, deletions, additions, and truncation are detected, and the first bad entry is named', async () => {
  const { world, root, call, adminOf, verify, db } = await openWorld()
  const { api_key: acme } = await adminOf('acme')
  await adminOf('beta')
  for (let at = 0; at < 8; at++) await call(acme, 'POST', '/device-groups', { org_id: 'acme', name: `group ${at}` })
  const { heads } = await call<{ heads: object[] }>(acme, 'GET', '/audit/head')
  const kept = await db.selectFrom('audit_entries').selectAll().execute()
  const head = await db.selectFrom('audit_heads').selectAll().where('org_id', '=', 'acme').executeTakeFirstOrThrow()
  const restore = async () => {
    await sql`delete from audit_entries`.execute(db)
    for (const row of kept) {
      await sql`insert into audit_entries overriding system value
        select * from jsonb_populate_record(null::audit_entries, ${JSON.stringify(row)}::jsonb)`.execute(db)
    }
    await db.updateTable('audit_heads').set({ seq: head.seq, hash: head.hash }).where('org_id', '=', 'acme').execute()
    expect(await verify(root, { heads })).toMatchObject({ valid: true, chains: [{ entries: 9 }, { entries: 1 }] })
  }
  const change = (text: string) => sql.raw(text).execute(db)
  const acmes = `where org_id = 'acme' and seq =`
  const hashAt = (seq: number) => kept.find((row) => row.org_id === 'acme' && row.seq === seq)!.hash
  const cut = `delete from audit_entries where org_id = 'acme' and seq > 5`
  const attacks: [string[], object, string][] = [
    [[`update audit_entries set actor_id = 'somebody' ${acmes} 4`], {}, 'seq 4: its content does not match its hash.'],
    [
      [`update audit_entries set changes = '[]', prev_hash = 'x' ${acmes} 3`],
      {},
      'seq 3: its prev_hash is not the hash of the entry before it.',
    ],
    [[`delete from audit_entries ${acmes} 6`], {}, 'seq 6: it is missing.'],
    [[`delete from audit_entries ${acmes} 1`], {}, 'seq 1: it is missing.'],
    [
      [
        `update audit_entries set seq = 100 ${acmes} 2`,
        `update audit_entries set seq = 2 ${acmes} 3`,
        `update audit_entries set seq = 3 ${acmes} 100`,
      ],
      {},
      'seq 2: its prev_hash is not the hash of the entry before it.',
    ],
    [[cut], {}, 'seq 6: it is missing.'],
    [
      [cut, `update audit_heads set seq = 5, hash = '${hashAt(5)}' where org_id = 'acme'`],
      { heads },
      'seq 6: it is missing: a signed head names seq 9.',
    ],
    [
      [`update audit_heads set seq = 5, hash = '${hashAt(5)}' where org_id = 'acme'`],
      {},
      'seq 6: it is after the head of the chain.',
    ],
    [
      [`delete from audit_entries where org_id = 'acme'`, `delete from audit_heads where org_id = 'acme'`],
      { heads },
      'seq 1: it is missing: a signed head names seq 9.',
    ],
    [
      [],
      { heads: [{ ...heads[0], seq: 12 }] },
      "seq 12: its signed head was not signed with this service's audit.key.",
    ],
    [
      [`update audit_heads set pruned_seq = 5, pruned_hash = '${hashAt(5)}' where org_id = 'acme'`],
      {},
      'seq 5: the record that retention deleted it was not signed by this service.',
    ],
  ]
  for (const [statements, body, fault] of attacks) {
    for (const statement of statements) await change(statement)
    const found = await verify(root, body)
    expect([statements, faultsIn(found)]).toEqual([statements, [['acme', fault]]])
    await change(`insert into audit_heads (org_id, seq, hash) values ('acme', 0, '') on conflict do nothing`)
    await change(`update audit_heads set pruned_seq = 0, pruned_hash = '' where org_id = 'acme'`)
    await restore()
  }
  // Names are not part of the chain.
  await change(`update audit_names set name = 'nobody'`)
  expect((await verify(root)).valid).toBe(true)
  await world.service.close()
})

test('chain heads are exported when there are new ones, and at shutdown', async () => {
  const { world, root, adminOf, verify } = await openWorld()
  const read = async () => {
    const text = await readFile(join(world.dataDir, 'audit-heads.jsonl'), 'utf8')
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { org_id: string; seq: number; signature: string })
  }
  await adminOf('acme')
  await world.service.runRetention()
  await world.service.runRetention()
  expect(await read()).toMatchObject([{ org_id: 'acme', seq: 1 }])
  await adminOf('acme')
  expect((await verify(root, { heads: await read() })).valid).toBe(true)
  await world.service.close()
  expect(await read()).toMatchObject([
    { org_id: 'acme', seq: 1 },
    { org_id: 'acme', seq: 2 },
  ])
})

test('a line that a full disk has torn is not joined with the next head', async () => {
  const { world, adminOf } = await openWorld()
  const path = join(world.dataDir, 'audit-heads.jsonl')
  await writeFile(path, '{"org_id":"acme","se')
  await adminOf('acme')
  await world.service.close()
  const [torn, head, end] = (await readFile(path, 'utf8')).split('\n')
  expect([torn, JSON.parse(head!), end]).toMatchObject(['{"org_id":"acme","se', { org_id: 'acme', seq: 1 }, ''])
})

test('heads that cannot be written at a stop are reported, and the database is closed', async () => {
  const dataDir = await freshDataDir()
  const config = { ...readConfig({ SERVICE_LOG_LEVEL: 'silent', SERVICE_ENROLLMENT: 'token' }), dataDir, port: 0 }
  const service = await createControlPlane(config)
  await service.createFirstAdminKey()
  const path = join(dataDir, 'audit-heads.jsonl')
  await mkdir(path)
  await expect(service.close()).rejects.toThrow(`Signed audit heads cannot be added to ${path}: `)
  expect(existsSync(join(dataDir, 'database', 'postmaster.pid'))).toBe(false)
})

test('an organization sees only its own entries, which include refused requests but no secrets', async () => {
  const { world, root, call, adminOf, entries, verify, db } = await openWorld()
  const acme = await adminOf('acme')
  const beta = await adminOf('beta')
  const secret = 'hunter2-hunter2'
  await call(acme.api_key, 'POST', '/integrations', {
    kind: 'logs',
    type: 'splunk',
    endpoint: `https://user:${secret}@splunk.example.com/${secret}?token=${secret}`,
    config: { token: secret },
  }).catch(() => undefined)
  await call(acme.api_key, 'POST', '/integrations', {
    kind: 'logs',
    type: 'splunk',
    endpoint: `https://splunk.example.com/${secret}`,
    config: { token: secret },
  })
  await call(acme.api_key, 'POST', '/device-groups', { org_id: 'acme', name: 'g', description: 'x'.repeat(900) })
  const viewer = await call<Made>(acme.api_key, 'POST', '/keys', { name: 'viewer', scopes: ['devices:read'] })
  for (let at = 0; at < 70; at++) {
    const { status } = await world.request('DELETE', `/api/v1/keys/${acme.id}`, { key: viewer.api_key })
    expect(status).toBe(403)
  }
  const refused = await entries(acme.api_key, '?result=refused')
  expect(refused).toHaveLength(60)
  expect(refused[0]).toMatchObject({
    action: 'revokeKey',
    object_kind: 'key',
    object_id: acme.id,
    status: 403,
    actor_name: 'viewer',
  })
  const signIn = (api_key: string) =>
    world.request('POST', '/api/v1/session', { body: { api_key }, headers: { origin: world.baseUrl } })
  expect((await signIn('sk_live_WrongWrongWrongWrongWrongWrong00')).status).toBe(401)
  expect((await signIn(acme.api_key)).status).toBe(201)
  expect(await entries(root, '?action=openSession')).toMatchObject([
    { org_id: 'acme', actor_id: acme.id, result: 'ok' },
    { org_id: null, actor_kind: 'anonymous', result: 'refused', status: 401 },
  ])

  expect((await entries(beta.api_key)).map(({ org_id }) => org_id)).toEqual(['beta'])
  expect(await entries(beta.api_key, '?org_id=acme')).toEqual([])
  const [foreign] = await entries(acme.api_key)
  expect((await world.request('GET', `/api/v1/audit/${foreign!.id}`, { key: beta.api_key })).status).toBe(404)
  const everything = JSON.stringify([
    await db.selectFrom('audit_entries').selectAll().execute(),
    await db.selectFrom('audit_names').selectAll().execute(),
  ])
  for (const never of [secret, acme.api_key, 'x'.repeat(300)]) expect(everything).not.toContain(never)
  const csv = await world.request('GET', '/api/v1/audit/export?format=csv', { key: beta.api_key })
  expect(String(csv.body).split('\r\n')).toHaveLength(3)
  const lines = await world.request('GET', '/api/v1/audit/export?result=ok', { key: root })
  expect(
    String(lines.body)
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as Entry).result),
  ).not.toContain('refused')
  expect((await verify(root)).valid).toBe(true)
})

test('a change that is rolled back leaves no entry, and one that is retried after a deadlock leaves one', async () => {
  const { world, adminOf, entries, db } = await openWorld()
  const acme = await adminOf('acme')
  // The first attempts of each transaction fail as in a deadlock, in the insert that creates the key.
  await sql.raw(`create sequence attempts`).execute(db)
  await sql
    .raw(`create function fail_twice() returns trigger language plpgsql as $$ begin
    if nextval('attempts') < 3 then raise exception 'again' using errcode = '40P01'; end if; return new; end $$`)
    .execute(db)
  await sql.raw(`create trigger failing before insert on keys for each row execute function fail_twice()`).execute(db)
  const create = () =>
    world.request('POST', '/api/v1/keys', { key: acme.api_key, body: { name: 'again', scopes: ['devices:read'] } })
  expect((await create()).status).toBe(201)
  expect(await entries(acme.api_key, '?object=again')).toHaveLength(1)
  await sql
    .raw(`create or replace function fail_twice() returns trigger language plpgsql as $$ begin
    raise exception 'never'; end $$`)
    .execute(db)
  await sql.raw(`drop trigger failing on keys`).execute(db)
  // Fails in the last statement of the transaction: the key and its entry are already written, and both are rolled back.
  await sql
    .raw(`create trigger failing before update on audit_heads for each row when (new.seq > old.seq)
    execute function fail_twice()`)
    .execute(db)
  expect((await create()).status).toBe(500)
  expect((await db.selectFrom('keys').selectAll().where('name', '=', 'again').execute()).length).toBe(1)
  expect(await entries(acme.api_key, '?object=again')).toHaveLength(1)
})

test('a refusal whose entry cannot be written keeps its answer, and the next entry counts it', async () => {
  const { world, root, call, entries, db } = await openWorld()
  const limited = { name: 'limited', org_id: 'acme', scopes: ['devices:read'] }
  const { api_key: key } = await call<Made>(root, 'POST', '/keys', limited)
  const refuse = () => world.request('POST', '/api/v1/device-groups', { key, body: { org_id: 'acme', name: 'g' } })
  const refused = await refuse()
  expect(refused).toMatchObject({ status: 403, body: { error: 'forbidden', status_code: 403 } })
  await sql
    .raw(`create function fail() returns trigger language plpgsql as $$ begin
    raise exception 'the audit log of db.internal is full'; end $$`)
    .execute(db)
  await sql.raw(`create trigger failing before insert on audit_entries execute function fail()`).execute(db)
  for (const _ of [1, 2]) expect((await refuse()).body).toEqual(refused.body)
  await sql.raw(`drop trigger failing on audit_entries`).execute(db)
  await refuse()
  const found = await entries(root, '?org_id=acme&result=refused')
  expect(found.map(({ changes }) => changes)).toEqual([[{ field: 'unrecorded_before', from: null, to: '2' }], []])
})

test('entries and their names are pruned by age, by the rule of their organization; the rest can still be verified', async () => {
  const { world, root, call, adminOf, entries, verify, db } = await openWorld()
  const acme = (await adminOf('acme')).api_key
  await call(root, 'POST', '/orgs', { name: 'acme' })
  const { api_key: beta } = await adminOf('beta')
  const headsNow = async () => (await call<{ heads: object[] }>(acme, 'GET', '/audit/head')).heads
  const old = await headsNow()
  await call(acme, 'PATCH', '/orgs/acme/settings', { audit_retention_days: 30 })
  const kept = await headsNow()
  const namesOf = async (orgId: string): Promise<string[]> => {
    const named = db.selectFrom('audit_names').select(['kind', 'name']).where('org_id', '=', orgId)
    return (await named.orderBy('kind').orderBy('name').execute()).map(({ kind, name }) => `${kind} ${name}`)
  }
  await world.advance(31 * 24 * 3600)
  await call(acme, 'PATCH', '/orgs/acme/settings', { session_hours: 8 })
  expect(await namesOf('acme')).toEqual(['address 127.0.0.1', 'key acme admin', 'key first admin key', 'org acme'])
  await world.service.runRetention()
  expect((await entries(acme)).map(({ seq }) => seq)).toEqual([4])
  expect((await entries(beta)).map(({ seq }) => seq)).toEqual([1])
  // Only those that the remaining entry shows.
  expect(await namesOf('acme')).toEqual(['address 127.0.0.1', 'key acme admin'])
  expect(await namesOf('beta')).toEqual(['address 127.0.0.1', 'key beta admin', 'key first admin key'])
  const found = await verify(acme, { heads: [...old, ...kept] })
  expect(found).toMatchObject({
    valid: true,
    chains: [{ org_id: 'acme', entries: 1, first_seq: 4, last_seq: 4, heads: 1 }],
  })
  // Deleting one more is detected, with and without a new beginning of the chain.
  await sql`delete from audit_entries where org_id = 'acme'`.execute(db)
  expect(faultsIn(await verify(acme))).toEqual([['acme', 'seq 4: it is missing.']])
  await sql`update audit_heads set pruned_seq = 4, pruned_hash = hash where org_id = 'acme'`.execute(db)
  expect(faultsIn(await verify(acme))).toEqual([
    ['acme', 'seq 4: the record that retention deleted it was not signed by this service.'],
  ])
})

test('an entry written while the clock was ahead keeps none of the later ones', async () => {
  const { world, root, call, adminOf, entries, db } = await openWorld()
  const { api_key: acme } = await adminOf('acme')
  await call(root, 'POST', '/orgs', { name: 'acme' })
  await call(acme, 'PATCH', '/orgs/acme/settings', { audit_retention_days: 30 })
  await sql`update audit_entries set at = '2100-01-01' where org_id = 'acme' and seq = 2`.execute(db)
  const seqs = async () => (await entries(acme)).map(({ seq }) => seq).sort()
  await world.service.runRetention()
  expect(await seqs()).toEqual([1, 2, 3])
  await world.advance(31 * 24 * 3600)
  await call(acme, 'PATCH', '/orgs/acme/settings', { session_hours: 8 })
  await world.service.runRetention()
  expect(await seqs()).toEqual([4])
})

test('the name of a device is in no entry about it, because the entries outlast the device', async () => {
  const { world, call, adminOf, entries } = await openWorld()
  const { api_key: acme } = await adminOf('acme')
  const device = { device_id: 'phone of ada', org_id: 'acme' }
  const { id } = await call<Made>(acme, 'POST', '/devices/register', device)
  const group = await call<Made>(acme, 'POST', '/device-groups', { org_id: 'acme', name: 'g' })
  const members = `/device-groups/${group.id}/devices`
  await call(acme, 'POST', members, { device_ids: ['phone of ada'] })
  await call(acme, 'DELETE', members, { device_ids: ['phone of ada'] })
  const viewer = await call<Made>(acme, 'POST', '/keys', { name: 'viewer', scopes: ['devices:read'] })
  const erase = ['POST', '/api/v1/devices/phone%20of%20ada/erase'] as const
  const refused = await world.request(...erase, { key: viewer.api_key, body: { confirm: 'phone of ada' } })
  expect(refused.status).toBe(403)
  await call(acme, 'POST', '/devices/phone%20of%20ada/erase', { confirm: 'phone of ada' })
  const all = await entries(acme)
  expect(all.slice(0, 2)).toMatchObject([
    { action: 'eraseDevice', object_kind: 'device', object_id: id },
    { action: 'eraseDevice', object_kind: 'device', object_id: null, result: 'refused' },
  ])
  expect(all.find(({ action }) => action === 'addGroupDevices')?.changes).toEqual([
    { field: 'added', from: null, to: JSON.stringify([id]) },
    { field: 'added_devices', from: null, to: '1' },
  ])
  expect(JSON.stringify(all)).not.toContain('phone of ada')
})

test('the id in a refused request cannot break the chain, whatever characters it contains', async () => {
  const { world, root, call, adminOf, verify } = await openWorld()
  const { api_key: acme } = await adminOf('acme')
  const made = await call<Made>(acme, 'POST', '/keys', { name: 'reader', scopes: ['devices:read'] })
  for (const id of ['%00', `${'a'.repeat(254)}%F0%9F%92%A5`, 'a%00b']) {
    expect((await world.request('DELETE', `/api/v1/team/${id}`, { key: made.api_key })).status).toBe(403)
  }
  const { valid, chains } = await verify(root, { org_id: 'acme' })
  expect([valid, chains[0]?.entries]).toEqual([true, 5])
})

test('an organization without any entry is not reported to have an intact log', async () => {
  const { world, root, adminOf, verify } = await openWorld()
  await adminOf('acme')
  expect((await verify(root, { org_id: 'acme' })).valid).toBe(true)
  const mistyped = await world.request('POST', '/api/v1/audit/verify', { key: root, body: { org_id: 'acmee' } })
  expect(mistyped).toMatchObject({ status: 404, body: { message: expect.stringContaining("'acmee'") } })
})

test('an unbound key can erase a name without naming an organization', async () => {
  const { world, root, call, entries } = await openWorld()
  const { id } = await call<Made>(root, 'POST', '/keys', { name: 'operator', scopes: ['admin'] })
  const own = (await call<{ keys: Made[] }>(root, 'GET', '/keys')).keys.find((key) => key.id === id)
  expect(own).toBeDefined()
  expect((await world.request('DELETE', `/api/v1/audit/names/key/${id}`, { key: root })).status).toBe(204)
  expect((await entries(root)).filter(({ object_name }) => object_name === 'operator')).toEqual([])
})

test('the name of a removed person can be erased, and the chain stays valid', async () => {
  const { world, root, call, verify, db } = await openWorld()
  await call(root, 'POST', '/orgs', { name: 'acme' })
  await call(root, 'PATCH', '/orgs/acme/settings', { audit_retention_days: 30 })
  const { token } = await call<{ token: string }>(root, 'POST', '/team', { email: 'bob@acme.example', org_id: 'acme' })
  const accepted = { token, name: 'Bob', password: 'four unrelated words here' }
  const { id } = await call<Made>(root, 'POST', '/invitations/accept', accepted)
  const erase = (key = root, org = 'acme') =>
    world.request('DELETE', `/api/v1/audit/names/person/${id}?org_id=${org}`, { key })
  expect(await erase()).toMatchObject({ status: 409, body: { message: expect.stringContaining('remove them first') } })
  await call(root, 'DELETE', `/team/${id}`)
  await world.advance(31 * 24 * 60 * 60)
  await call(root, 'POST', '/team', { email: 'Bob@acme.example', org_id: 'acme' })
  // Prunes the entries that named the person.
  await world.service.runRetention()
  await world.advance(8 * 24 * 60 * 60)
  expect((await erase(root, 'beta')).status).toBe(404)
  expect((await erase()).status).toBe(204)
  expect((await erase()).status).toBe(404)
  const kept = await sql<{ row: string }>`
    select p::text as row from people p union all select i::text from invitations i
    union all select n::text from audit_names n where kind in ('person', 'invitation')`.execute(db)
  expect(kept.rows.filter(({ row }) => /bob/i.test(row))).toEqual([])
  expect((await verify(root)).valid).toBe(true)
})

test('erasing the name of a removed person leaves their new invitation', async () => {
  const { root, call } = await openWorld()
  const invite = () => call<{ token: string }>(root, 'POST', '/team', { email: 'bob@acme.example', org_id: 'acme' })
  const accept = async () =>
    call<Made>(root, 'POST', '/invitations/accept', {
      token: (await invite()).token,
      password: 'four unrelated words here',
    })
  const { id } = await accept()
  await call(root, 'DELETE', `/team/${id}`)
  const { token } = await invite()
  await call(root, 'DELETE', `/audit/names/person/${id}?org_id=acme`)
  expect(await call(root, 'POST', '/invitations/read', { token })).toMatchObject({ email: 'bob@acme.example' })
})

test('of concurrent removals one succeeds, and only that one has an entry', async () => {
  const { world, root, call, entries } = await openWorld()
  const all = await call<Made>(root, 'POST', '/keys', { name: 'all', org_id: 'acme', scopes: SCOPES })
  const make = (path: string, body: object, method = 'POST') => call<Made>(all.api_key, method, path, body)
  const { token } = await call<{ token: string }>(all.api_key, 'POST', '/team', { email: 'ada@acme.example' })
  const member = await make('/invitations/accept', { token, password: 'four unrelated words here' })
  const group = await make('/device-groups', { org_id: 'acme', name: 'g' })
  const model = await make('/models', { name: 'm' })
  await make('/models/m/policy', { enabled: false, min_improvement: 0.1 }, 'PUT')
  const endpoint = 'https://splunk.example.org'
  const integration = await make('/integrations', { kind: 'logs', type: 'splunk', endpoint, config: { token: 't' } })
  for (const [action, path] of [
    ['removeMember', `/team/${member.id}`],
    ['deleteGroup', `/device-groups/${group.id}`],
    ['deletePolicy', `/models/${model.id}/policy`],
    ['deleteIntegration', `/integrations/${integration.id}`],
  ] as const) {
    const removals = Array.from({ length: 8 }, () => world.request('DELETE', `/api/v1${path}`, { key: all.api_key }))
    const statuses = (await Promise.all(removals)).map(({ status }) => status)
    expect([action, statuses.filter((status) => status !== 404).length]).toEqual([action, 1])
    expect(await entries(all.api_key, `?action=${action}`)).toHaveLength(1)
  }
})

test('requests that change nothing leave no entry', async () => {
  const { root, call, entries } = await openWorld()
  await call(root, 'POST', '/orgs', { name: 'acme' })
  const { api_key } = await call<Made>(root, 'POST', '/keys', { name: 'all', org_id: 'acme', scopes: SCOPES })
  const twice = async (method: string, path: string, body?: object) => {
    await call(api_key, method, path, body)
    const before = await entries(api_key)
    await call(api_key, method, path, body)
    expect([path, (await entries(api_key)).length]).toEqual([path, before.length])
    return before[0]
  }
  const set = await twice('PATCH', '/orgs/acme/settings', { session_hours: 9 })
  expect(set?.changes).toEqual([{ field: 'session_hours', from: '24', to: '9' }])
  await twice('PATCH', '/team/policy', {})
  const { id: invited } = await call<Made>(api_key, 'POST', '/team', { email: 'ada@acme.example' })
  await twice('PATCH', `/team/${invited}`, { role: 'viewer' })
  await call(api_key, 'POST', '/devices/register', { device_id: 'd' })
  const { id: group } = await call<Made>(api_key, 'POST', '/device-groups', { org_id: 'acme', name: 'g' })
  await twice('PUT', `/device-groups/${group}`, { name: 'h' })
  await twice('POST', `/device-groups/${group}/devices`, { device_ids: ['d'] })
  const { id: key } = await call<Made>(api_key, 'POST', '/keys', { name: 'k', scopes: ['models:read'] })
  await twice('DELETE', `/keys/${key}`)
})
