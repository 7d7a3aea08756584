import { expect, it } from 'vitest'
import { createMemberships } from './memberships.ts'

it('devices are counted by the set of groups that they report to, whatever the order and number of their reports', async () => {
  const memberships = createMemberships(1000)
  for (let device = 0; device < 3000; device++) {
    for (const group of device % 3 === 0 ? [999, 8, 0, 8] : [7]) memberships.add(device, group)
  }
  memberships.add(1, 500)
  const cells = (await memberships.cells()).map(({ groups, devices }) => ({ groups: [...groups], devices }))
  expect(cells).toEqual([
    { groups: [0, 8, 999], devices: 1000 },
    { groups: [7, 500], devices: 1 },
    { groups: [7], devices: 1999 },
  ])
})
