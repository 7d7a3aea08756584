import { homedir, userInfo } from 'node:os'
import { afterEach, expect, it, vi } from 'vitest'
import { serviceFolder, userFolder } from './user-folder.ts'

afterEach(() => void vi.unstubAllEnvs())

it('is HOME, and if that is empty, the folder in /etc/passwd, never the current folder', () => {
  expect(userFolder()).toBe(homedir())
  vi.stubEnv('HOME', '')
  expect(userFolder()).toBe(userInfo().homedir)
})

it.runIf(process.geteuid?.() === 0)('is the root folder for a user without HOME and an entry in /etc/passwd', () => {
  vi.stubEnv('HOME', undefined)
  process.seteuid!(1_987_654)
  try {
    expect([userFolder(), serviceFolder(''), serviceFolder('own', '/data')]).toEqual(['/', '/.svc', '/data/own'])
  } finally {
    process.seteuid!(0)
  }
})
