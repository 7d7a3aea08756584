import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { eachDatabase } from '../../../../test/databases.ts'
import { openRound } from '../../../secure-aggregation/server-round.ts'
import { secureSettings } from '../../../secure-aggregation/settings.ts'
import { secureRoundsStore } from './secure-rounds.store.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const store = secureRoundsStore

eachDatabase('the messages of secure rounds', (open) => {
  it('are stored once for each device and step, and deleted once the masked updates are gone', async () => {
    const db = await open()
    const [kept, retired, device] = [idOf(1), idOf(2), idOf(3)]
    await sql`insert into devices (id, device_id, platform, capabilities, status, last_heartbeat, created_at, updated_at)
      values (${device}, 'd', 'linux', '{}', 'active', ${NOW}, ${NOW}, ${NOW})`.execute(db.sql)
    for (const [number, id] of [kept, retired].entries()) {
      await sql`insert into rounds (id, round_number, status, target_devices, min_devices, timeout_seconds, grace_seconds,
          plan, taking_part, created_at, timeout_at, updates_deleted_at)
        values (${id}, ${number + 1}, 'completed', 2, 2, 60, 5, '{}', 2, ${NOW}, ${NOW},
          ${id === retired ? NOW : null}::timestamptz)`.execute(db.sql)
      const settings = secureSettings({ devices: 2, range: 0.5 })
      const round = { ...openRound(id, settings), words: 12, deadlineAt: NOW }
      await store.insert(db.sql, round)
      expect(await store.find(db.sql, id)).toEqual(round)
      const response = {
        roundId: id,
        deviceId: device,
        step: 'keys',
        message: { encryptionKey: 'a', maskingKey: 'b' },
      } as const
      await store.insertMessage(db.sql, response, NOW)
      await expect(store.insertMessage(db.sql, response, NOW)).rejects.toThrow('the first one counts')
    }
    await store.forgetRetired(db.sql)
    expect(await store.messages(db.sql, kept, 'keys')).toEqual({ [device]: { encryptionKey: 'a', maskingKey: 'b' } })
    expect(await store.messages(db.sql, retired, 'keys')).toEqual({})
  })
})
