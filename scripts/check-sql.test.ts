// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the code that is checked is text here
import { describe, expect, it } from 'vitest'
import { namedIn, type Owner, tablesOf, violations } from './check-sql.ts'

const OWNERS: readonly Owner[] = [
  { module: 'fleet', tables: ['devices', 'device_counts'] },
  { module: 'training', tables: ['rounds', 'updates'] },
]
const TABLES = OWNERS.flatMap(({ tables }) => tables)

const check = (path: string, text: string) => violations([{ path, text }], OWNERS, TABLES)

const EARLIER = 'src/control/fleet/devices/devices.store.ts'
const LATER = 'src/control/training/rounds/rounds.store.ts'
const REPORT = 'src/control/training/rounds/rounds.report.ts'

describe('the SQL check', () => {
  it.each([
    ['after from', 'sql`select id from devices where id = 1`'],
    ['with a type', 'sql<{ id: string }>`select id from devices`'],
    ['in capitals and quotes', 'sql`SELECT id FROM "devices" d`'],
    ['with its schema', 'sql`select id from public.devices`'],
    ['after join', 'sql`select 1 from updates u left join devices d on d.id = u.device_id`'],
    ['after join only', 'sql`select 1 from updates u join only devices d on true`'],
    ['after a comma', 'sql`select 1 from rounds as r, lateral (select 1) x, devices d`'],
    ['in parentheses', 'sql`select 1 from (devices d cross join rounds r)`'],
    ['in a subquery', 'sql`select exists (select from devices where true)`'],
    ['behind a comment', 'sql`select 1 from /* own */ devices`'],
    ['in a common table expression', 'sql`with seen as (select id from devices) select id from seen`'],
    ['in a piece of a statement', 'sql`select 1 from updates u ${sql`join devices d on d.id = u.device_id`}`'],
    ['in a piece that is a name', 'sql`select 1 from ${sql`devices d`}`'],
    ['as an identifier', "sql`select 1 from ${sql.table('devices')}`"],
    ['in raw text', "sql.raw('select id from devices')"],
    ['in selectFrom', "db.selectFrom('devices').selectAll()"],
    ['in selectFrom, with an alias', "db.selectFrom('devices as d').selectAll()"],
    ['in selectFrom, among others', "db.selectFrom(['rounds', 'devices as d']).selectAll()"],
    ['in a join', "db.selectFrom('updates').innerJoin('devices', 'devices.id', 'updates.device_id')"],
    ['in a join, on several lines', "db.selectFrom('updates')\n  .leftJoin(\n    'devices as d',\n    'd.id', 'x')"],
    ['in a subquery of the builder', "db.selectFrom('rounds').where((eb) => eb.exists(eb.selectFrom('devices')))"],
  ])('finds a table that is read %s', (_, code) => {
    const fault = 'names the table devices, which belongs to fleet'
    expect(check(LATER, code)).toEqual([`${LATER} ${fault}: read it in a *.report.ts`])
    expect(check(REPORT, code)).toEqual([])
  })

  it.each([
    ['insert', 'sql`insert into devices (id) values (1)`'],
    ['update', 'sql`update devices d set id = 1`'],
    ['update only', 'sql`update only devices set id = 1`'],
    ['delete', 'sql`delete from devices where id = 1`'],
    ['truncate', 'sql`truncate table devices`'],
    ['merge', 'sql`merge into devices using rounds on true when matched then delete`'],
    ['update in a common table expression', 'sql`with x as (update devices set id = 1 returning id) select id from x`'],
    ['insertInto', "db.insertInto('devices').values({})"],
    ['updateTable', "db.updateTable('devices as d').set({})"],
    ['deleteFrom', "db.deleteFrom('devices')"],
    ['write in the builder’s common table expression', "db.with('x', (w) => w.deleteFrom('devices')).selectFrom('x')"],
  ])('finds an %s', (_, code) => {
    expect(check(LATER, code)).toEqual([`${LATER} names the table devices, which belongs to fleet: call its module`])
    expect(check(REPORT, code)).toEqual([`${REPORT} writes the table devices: reports only read`])
  })

  it("does not let reports write, even to their own module's tables", () => {
    expect(check(REPORT, 'sql`update rounds set id = 1`')).toEqual([
      `${REPORT} writes the table rounds: reports only read`,
    ])
  })

  it('does not let earlier modules read tables of later ones, even in reports', () => {
    const report = 'src/control/fleet/devices/devices.report.ts'
    const fault = 'names the table rounds, which belongs to training: invert the dependency'
    expect(check(EARLIER, 'sql`select 1 from rounds`')).toEqual([`${EARLIER} ${fault}`])
    expect(check(report, 'sql`select 1 from rounds`')).toEqual([`${report} ${fault}`])
  })

  it.each(['src/control/training/rounds/rounds.service.ts', 'src/control/app.ts', 'src/platform/http/server.ts'])(
    'does not let %s name any table',
    (path) => {
      expect(check(path, "database.sql.selectFrom('rounds')")).toEqual([
        `${path} names the table rounds: SQL belongs in a store or a report`,
      ])
    },
  )

  it.each([
    'sql`update ${sql.table(name)} set org_id = 1`',
    'sql`delete from ${which}`',
    'sql`select 1 from ${sql.table(name)}`',
    'sql.raw(text)',
    'db.selectFrom(name)',
    "db.deleteFrom(isOld ? 'rounds' : 'devices')",
  ])('refuses computed table names: %s', (code) => {
    expect(check(LATER, code)).toEqual([`${LATER} computes the name of a table: write it out`])
  })

  it.each([
    ['its own tables', 'sql`insert into rounds as r (id) select id from updates`'],
    ['columns of these names', 'sql`select r.devices, count(*) as devices from rounds r order by devices`'],
    ['aliases of these names', 'sql`select devices.id from rounds as devices`'],
    ['text', "sql`select 'from devices' from rounds -- join devices`"],
    ['comments', '// select from devices\n/* update devices */'],
    ['errors', "throw new Error('removed from devices')"],
    ['comparisons', 'sql`select 1 from rounds r where r.id is distinct from devices.id`'],
    ['the values of a conflict', 'sql`insert into rounds (id) values (1) on conflict (id) do update set id = 2`'],
    ['locks', 'sql`select id from rounds for no key update`'],
  ])('accepts %s', (_, code) => {
    expect(check(LATER, code)).toEqual([])
  })

  it.each([
    ['sql<boolean>`a = 1 or b = 2`', '`a = 1 or b = 2`'],
    ["sql`select 1 from rounds where ${sql`x = ${x} or (y and 'a or b')`}`", "`x = ${x} or (y and 'a or b')`"],
  ])('finds a condition without parentheses: %s', (code, condition) => {
    expect(check(LATER, code)).toEqual([`${LATER} lacks parentheses around ${condition}`])
  })

  it.each([
    'sql<boolean>`(a = 1 or b = 2)`',
    "sql`a = 'this or that'`",
    'sql`select 1 from rounds where a or b`',
    'sql` or `',
    'sql`exists (select from rounds where a or b) and c`',
  ])('accepts a condition in parentheses, and text that is not a condition: %s', (code) => {
    expect(check(LATER, code)).toEqual([])
  })

  it('finds tables with no owner, with two, and with an owner but no migration', () => {
    const owners = [...OWNERS, { module: 'analytics', tables: ['rounds', 'queries'] }]
    expect(violations([], owners, [...TABLES, 'orphans'])).toEqual([
      'the table orphans has no owner: name it in a module.ts',
      'the table rounds has two owners: name it in one module.ts',
      'the table queries is named in a module.ts, but no migration creates it',
    ])
  })

  it('reads the tables of migrations, including dropped and renamed ones', () => {
    const first = "['create table devices (id uuid)', 'create unlogged table if not exists counts (n int)']"
    const second = "['drop table counts', 'alter table devices rename to machines']"
    expect(tablesOf([first, second])).toEqual(['machines'])
  })

  it('reads the tables that a module names', () => {
    const text = "export const fleet: Module<Fleet, object> = { tables: ['devices', 'device_counts'], create }"
    expect(namedIn({ path: 'src/control/fleet/module.ts', text })).toEqual(['devices', 'device_counts'])
  })
})
