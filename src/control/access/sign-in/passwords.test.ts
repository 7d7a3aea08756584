import { expect, it } from 'vitest'
import { checkPassword, hashPassword, isPassword } from './passwords.service.ts'

it('four passwords are checked at once while 64 wait; the next is told to retry, and all that waited are checked', async () => {
  const hashed = await hashPassword('four unrelated words here')
  // A sign-in compares two hashes, but takes one place.
  const checks = Array.from({ length: 68 }, () => checkPassword('four unrelated words here', [null, hashed]))
  await expect(isPassword('four unrelated words here', hashed)).rejects.toMatchObject({
    code: 'unavailable',
    retryAfterSeconds: 5,
  })
  expect(await Promise.all(checks)).toEqual(Array(68).fill([false, true]))
  expect(await isPassword('another', hashed)).toBe(false)
})
