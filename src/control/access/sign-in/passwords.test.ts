import { expect, it } from 'vitest'
import { hashPassword, isPassword } from './passwords.service.ts'

it('four passwords are checked at once while 64 wait; the next is told to retry, and all that waited are checked', async () => {
  const hashed = await hashPassword('four unrelated words here')
  const checks = Array.from({ length: 68 }, () => isPassword('four unrelated words here', hashed))
  await expect(isPassword('four unrelated words here', hashed)).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 5,
  })
  expect(new Set(await Promise.all(checks))).toEqual(new Set([true]))
  expect(await isPassword('another', hashed)).toBe(false)
})
