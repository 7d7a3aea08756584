import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { openTestDatabase } from '../../../../test/databases.ts'
import { federationsStore } from '../../federations/federations.store.ts'
import { contributionsTo } from './rounds.report.ts'

const at = new Date('2026-01-01T00:00:00Z')
const later = new Date('2026-01-01T01:00:00Z')
/** To other members: too few devices took part in each round. */
const NOTHING_SHOWN = { visibleAccuracy: null, visibleLoss: null }

it('contributions of members are what their devices delivered to completed rounds of the federation, and nothing else', async () => {
  const { sql: db } = await openTestDatabase()
  const id = randomUUID()
  const federation = { id, orgId: 'acme', name: 'l', description: '', status: 'active', memberCount: 1 } as const
  await federationsStore.insert(db, { ...federation, createdAt: at })

  const device = async (orgId: string): Promise<string> => {
    const deviceId = randomUUID()
    await sql`insert into devices (id, device_id, org_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
      values (${deviceId}, ${deviceId}, ${orgId}, 'linux', '{}', 'active', ${at}, ${at}, ${at})`.execute(db)
    return deviceId
  }
  let number = 0
  const round = async (status: string, federationId: string | null): Promise<string> => {
    const roundId = randomUUID()
    await sql`insert into rounds (id, round_number, status, target_devices, min_devices, timeout_seconds, grace_seconds, plan,
        taking_part, federation_id, created_at)
      values (${roundId}, ${++number}, ${status}, 9, 1, 60, 5, '{}', 9, ${federationId}::uuid, ${at})`.execute(db)
    return roundId
  }
  const deliver = (roundId: string, deviceId: string, samples: number, accuracy: number | null, loss: number | null) =>
    sql`insert into updates (id, round_id, device_id, file_hash, size, num_samples, local_accuracy, local_loss, created_at)
      values (${randomUUID()}, ${roundId}, ${deviceId}, 'h', 1, ${samples}, ${accuracy}, ${loss},
        ${samples === 30 ? later : at})`.execute(db)

  const [acme, other, beta] = [await device('acme'), await device('acme'), await device('beta')]
  const [first, second] = [await round('completed', id), await round('completed', id)]
  await deliver(first, acme, 10, 0.5, 2)
  await deliver(first, other, 30, 0.9, 1)
  await deliver(second, acme, 60, null, 4)
  await deliver(first, beta, 5, null, null)
  for (const elsewhere of [await round('failed', id), await round('active', id), await round('completed', null)]) {
    await deliver(elsewhere, beta, 1000, 1, 0)
  }

  // A million times the largest num_samples would not fit into a bigint.
  for (let n = 0; n < 3; n++) await deliver(await round('completed', id), beta, Number.MAX_SAFE_INTEGER, 1, 3.4e38)

  expect(await contributionsTo(db, id)).toEqual(
    new Map([
      [
        'acme',
        {
          roundsContributed: 2,
          totalSamples: 100,
          avgAccuracy: 0.8,
          avgLoss: 2.9,
          lastContributionAt: later,
          ...NOTHING_SHOWN,
        },
      ],
      [
        'beta',
        {
          roundsContributed: 4,
          totalSamples: Number.MAX_SAFE_INTEGER,
          avgAccuracy: 1,
          avgLoss: expect.closeTo(3.4e38, -24),
          lastContributionAt: at,
          ...NOTHING_SHOWN,
        },
      ],
    ]),
  )
})
