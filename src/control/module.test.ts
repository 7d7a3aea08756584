import { expect, it } from 'vitest'
import { runEach } from './module.ts'

it('a failing step does not keep the others from running, and the first failure is thrown at the end', async () => {
  const ran: string[] = []
  const step =
    (name: string, fails = false) =>
    async () => {
      ran.push(name)
      if (fails) throw new Error(name)
    }
  await expect(runEach(step('a'), step('b', true), step('c', true), step('d'))).rejects.toThrow('b')
  expect(ran).toEqual(['a', 'b', 'c', 'd'])
  await expect(runEach(step('e'))).resolves.toBeUndefined()
})
