import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { hasPostgres } from '../../../../test/databases.ts'
import { formOf, startWorld, type World, type WorldOptions } from '../../../../test/world.ts'

interface Paired {
  readonly pairing_id: string
  readonly code: string
  readonly status: string
  readonly reason: string | null
  readonly api_key: string
}

const startOpen = async (options: WorldOptions = {}) => {
  const world = await startWorld(options)
  const { key } = await world.register('operator')
  const call = async (method: string, path: string, body?: object, bearer: string | null = key) => {
    const response = await world.request(method, `/api/v1${path}`, { key: bearer ?? undefined, body })
    return { status: response.status, body: response.body as Paired }
  }
  const addModel = async (owner = key) => {
    await call('POST', '/models', { name: 'net' }, owner)
    await world.request('POST', '/api/v1/models/net/versions/upload', { key: owner, body: formOf('weights') })
  }
  return {
    world,
    call,
    addModel,
    db: world.database!.sql,
    makeCode: async (fields: object = { model_name: 'net' }) => (await call('POST', '/pairings', fields)).body,
    claim: (code: string, fields: object = { device_id: 'phone' }, bearer: string | null = null) =>
      call('POST', '/pairings/claim', { code, ...fields }, bearer),
    read: async (id: string) => (await call('GET', `/pairings/${id}`)).body,
    assignmentsOf: async (device: string, bearer: string) =>
      (await call('GET', `/devices/${device}/assignments`, undefined, bearer)).body as unknown as {
        assignments: object[]
      },
  }
}

/** Makes every write of this kind to the table fail as in an outage, until `drop`. */
const failing = async (world: World, write: string, table: string) => {
  const db = world.database!.sql
  await sql
    .raw(`create or replace function out_of_order() returns trigger language plpgsql as $$ begin
    raise exception 'terminating connection' using errcode = '57P01'; end $$`)
    .execute(db)
  await sql.raw(`create trigger failing before ${write} on ${table} execute function out_of_order()`).execute(db)
  return async () => void (await sql.raw(`drop trigger failing on ${table}`).execute(db))
}

it.each([
  ['deployment', 'insert', 'deployments'],
  ['pairing', 'update of reason', 'pairings'],
])('a device gets its key even if the %s cannot be written, and its model once it can', async (_, write, table) => {
  const { world, addModel, makeCode, claim, read, assignmentsOf } = await startOpen({ config: { logLevel: 'silent' } })
  await addModel()
  const { pairing_id: id, code } = await makeCode()
  const drop = await failing(world, write, table)
  const { status, body } = await claim(code)
  await drop()
  expect([status, body.status, body.reason]).toEqual([200, 'paired', null])
  expect(await read(id)).toMatchObject({ status: 'deploying', deployment_id: id })
  expect(await assignmentsOf('phone', body.api_key)).toMatchObject({ assignments: [{ plan_id: id }] })
})

const until = async (isTrue: () => Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Runs `work` after a claim has taken the code and before it has registered its device. */
const duringClaim = async <T>(
  { db, claim }: Pick<Awaited<ReturnType<typeof startOpen>>, 'db' | 'claim'>,
  { code, pairing_id }: Paired,
  deviceId: string,
  work: () => Promise<T>,
) => {
  let claimed: ReturnType<typeof claim> | undefined
  const seen = await db.transaction().execute(async (tx) => {
    // Blocks writes, not reads.
    await sql`lock table devices in exclusive mode`.execute(tx)
    claimed = claim(code, { device_id: deviceId })
    await until(async () => {
      const row = await tx.selectFrom('pairings').select('device_id').where('id', '=', pairing_id).executeTakeFirst()
      return row?.device_id === deviceId
    })
    return work()
  })
  return { seen, claimed: await claimed! }
}

it.skipIf(!hasPostgres())('reading a pairing while its device is being registered does not make it fail', async () => {
  const open = await startOpen({ database: 'postgres' })
  await open.addModel()
  const made = await open.makeCode()
  const { seen, claimed } = await duringClaim(open, made, 'phone', () => open.read(made.pairing_id))
  expect(seen).toMatchObject({ status: 'paired', reason: null, deployment_id: null })
  expect(claimed).toMatchObject({ status: 200, body: { status: 'deploying' } })
  expect(await open.read(made.pairing_id)).toMatchObject({ status: 'deploying', reason: null })
})

it.skipIf(!hasPostgres())(
  'reading a pairing during a claim that is refused deploys nothing to the device it named',
  async () => {
    const open = await startOpen({ database: 'postgres' })
    await open.addModel()
    const made = await open.makeCode()
    const { claimed } = await duringClaim(open, made, 'operator', () => open.read(made.pairing_id))
    expect(claimed.status).toBe(409)
    expect(await open.read(made.pairing_id)).toMatchObject({ status: 'waiting', device_id: null, deployment_id: null })
    const phone = (await open.claim(made.code)).body
    expect(phone.status).toBe('deploying')
    expect((await open.assignmentsOf('phone', phone.api_key)).assignments).toHaveLength(1)
  },
)

it('a pairing that another process marked as failed is paired once its device is, and reopened if it is refused', async () => {
  const { db, addModel, makeCode, claim, read, call } = await startOpen()
  await addModel()
  // Writes what the other process would, at the moment the code is taken.
  await sql
    .raw(`create or replace function misjudge() returns trigger language plpgsql as $$ begin
    new.status = 'failed'; new.reason = 'no such device'; return new; end $$`)
    .execute(db)
  await sql
    .raw(`create trigger misjudged before update on pairings for each row when (old.status = 'waiting')
    execute function misjudge()`)
    .execute(db)
  const { pairing_id: id, code } = await makeCode()
  expect((await claim(code, { device_id: 'operator' })).status).toBe(409)
  expect(await read(id)).toMatchObject({ status: 'waiting', reason: null })
  expect((await claim(code)).body).toMatchObject({ status: 'deploying', reason: null })
  expect(await read(id)).toMatchObject({ status: 'deploying', reason: null })
  expect((await call('GET', '/devices/phone')).status).toBe(200)
})

it('a claim that a crash interrupted fails with a reason when it can no longer be under way', async () => {
  const { world, db, addModel, makeCode, read } = await startOpen()
  await addModel()
  const { pairing_id: id } = await makeCode()
  // The state after a process ends between taking the code and registering the device.
  await db.updateTable('pairings').set({ status: 'claiming', device_id: 'phone' }).where('id', '=', id).execute()
  expect(await read(id)).toMatchObject({ status: 'paired', reason: null })
  await world.advance(6 * 60)
  const reason = 'The service stopped while the device was being paired. Create a new code.'
  expect(await read(id)).toMatchObject({ status: 'failed', reason })
})

it("a code without an organization deploys to the device that took it, not to its namesake in the model's organization", async () => {
  const { world, call, addModel, makeCode, claim, assignmentsOf } = await startOpen()
  const namesake = await world.register('phone', { org_id: 'acme' })
  const scopes = ['models:read', 'models:write']
  const acme = await call('POST', '/keys', { name: 'acme', org_id: 'acme', scopes })
  await addModel(acme.body.api_key)
  const { pairing_id: id, code } = await makeCode()
  const { body } = await claim(code)
  expect(body).toMatchObject({ status: 'deploying', org_id: null })
  expect(await assignmentsOf('phone', body.api_key)).toMatchObject({ assignments: [{ plan_id: id }] })
  expect((await assignmentsOf('phone', namesake.key)).assignments).toEqual([])
})

it('a device with namesakes in other organizations gets the model through its own key', async () => {
  const { world, addModel, makeCode, claim } = await startOpen()
  await addModel()
  const phones = [await world.register('phone', { org_id: 'acme' }), await world.register('phone', { org_id: 'beta' })]
  for (const { key } of phones) {
    const { code } = await makeCode()
    expect((await claim(code, {}, key)).body.status).toBe('deploying')
  }
})

it('a pairing whose device cannot be told from its namesakes after a crash fails with a reason', async () => {
  const { world, db, addModel, makeCode, read } = await startOpen()
  await addModel()
  for (const org_id of ['acme', 'beta']) await world.register('phone', { org_id })
  const { pairing_id: id } = await makeCode()
  await db.updateTable('pairings').set({ status: 'paired', device_id: 'phone' }).where('id', '=', id).execute()
  const reason =
    "Several organizations have a device 'phone'. Create a new code for the organization of the intended device."
  expect(await read(id)).toMatchObject({ status: 'failed', reason })
})
