import { expect, test } from 'vitest'
import { eachDatabase } from '../../test/databases.ts'

eachDatabase('a database', (open) => {
  test('is empty and migrated when opened', async () => {
    const db = await open()
    expect(await db.sql.selectFrom('devices').selectAll().execute()).toEqual([])
  })
})
