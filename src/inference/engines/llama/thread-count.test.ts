import { open } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder } from '../../../../test/databases.ts'
import { threadCountFor } from './settings.ts'

test('a small model leaves one core to the server, and a large one leaves none', async () => {
  const folder = await emptyFolder()
  const ofSize = async (name: string, size: number): Promise<string> => {
    const file = await open(join(folder, name), 'w')
    await file.truncate(size)
    await file.close()
    return join(folder, name)
  }
  const [small, large] = [threadCountFor(await ofSize('small', 1000)), threadCountFor(await ofSize('large', 2 ** 28))]
  expect(small).toBe(Math.max(1, availableParallelism() - 1))
  expect(large).toBeGreaterThanOrEqual(1)
  expect(large).toBeLessThanOrEqual(availableParallelism())
  if (availableParallelism() === 2) expect([small, large]).toEqual([1, 2])
  expect(threadCountFor(join(folder, 'nothing'))).toBe(small)
})
