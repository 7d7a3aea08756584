import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { runService } from '../../test/e2e/service-process.ts'
import { requireDataFolder, requireStorageFolder, watchFreeSpace } from './data-folder.ts'

const ADVICE = 'Set SERVICE_DATA_DIR to a folder that this user may write to.'
const messageOf = (path: string, fault: string) =>
  `SERVICE_DATA_DIR: the folder ${path} cannot be used: ${fault}. ${ADVICE}`

const trying = (path: string): Promise<string> =>
  requireDataFolder(path).then(
    () => 'it can be used',
    (error: Error) => `${error.name}: ${error.message}`,
  )

describe('the data folder', () => {
  it('is created with its parent folders and left empty; an existing folder is accepted', async () => {
    const path = join(await emptyFolder(), 'a', 'b')
    expect([await trying(path), await trying(path), await readdir(path)]).toEqual([
      'it can be used',
      'it can be used',
      [],
    ])
  })

  it.skipIf(process.platform === 'win32')('is closed to other users, even if it was open to them', async () => {
    const folder = await emptyFolder()
    const [made, found] = [join(folder, 'made'), join(folder, 'found')]
    await mkdir(found)
    await chmod(found, 0o775)
    const modeOf = async (path: string) => {
      await requireDataFolder(path)
      return (await stat(path)).mode & 0o777
    }
    expect([await modeOf(made), await modeOf(found)]).toEqual([0o700, 0o700])
  })

  it.skipIf(process.platform !== 'linux')('is reported as full while writes fail for lack of space', async () => {
    const folder = await emptyFolder()
    await expect(watchFreeSpace(folder)()).resolves.toBeUndefined()
    // Writes to this path fail for lack of space.
    await symlink('/dev/full', join(folder, `.room-${process.pid}`))
    const check = watchFreeSpace(folder)
    await expect(check()).rejects.toMatchObject({ code: 'ENOSPC' })
    await expect(check()).rejects.toMatchObject({ code: 'ENOSPC' })
    await expect(watchFreeSpace(folder)()).resolves.toBeUndefined()
    expect(await readdir(folder)).toEqual([])
  })

  it.skipIf(process.platform === 'win32')("for stored files may contain what is not the service's", async () => {
    const folder = await emptyFolder()
    await writeFile(join(folder, 'sha256'), '', { mode: 0o600 })
    await expect(requireStorageFolder(folder)).rejects.toThrow()
    await rm(join(folder, 'sha256'))
    await writeFile(join(folder, 'notes.txt'), '', { mode: 0o600 })
    await mkdir(join(folder, 'lost+found'), { mode: 0o000 })
    await expect(requireStorageFolder(folder)).resolves.toBeUndefined()
  })

  it('is created once by concurrent calls', async () => {
    const path = join(await emptyFolder(), 'a', 'b', 'c')
    expect(new Set(await Promise.all(Array.from({ length: 8 }, () => trying(path))))).toEqual(
      new Set(['it can be used']),
    )
  })

  it('cannot be a file or lie below one', async () => {
    const file = join(await emptyFolder(), 'file')
    await writeFile(file, '')
    expect([await trying(file), await trying(join(file, 'below'))]).toEqual([
      `ConfigError: ${messageOf(file, `${file} is not a folder`)}`,
      `ConfigError: ${messageOf(join(file, 'below'), 'a part of its path is a file')}`,
    ])
  })

  it.skipIf(process.getuid?.() === 0 || process.platform === 'win32')('must be writable by this user', async () => {
    const locked = join(await emptyFolder(), 'locked')
    await mkdir(locked, { mode: 0o500 })
    const below = join(locked, 'below')
    expect([await trying(locked), await trying(below)]).toEqual([
      `ConfigError: ${messageOf(locked, 'it is not writable (permission denied)')}`,
      `ConfigError: ${messageOf(below, `${below} cannot be created (permission denied)`)}`,
    ])
    await chmod(locked, 0o700)
  })

  it.each([
    ['secrets.key', 'must contain 32 bytes; it has 5.'],
    ['audit.key', 'cannot be used: it must contain an Ed25519 private key in PEM.'],
  ])('with an unusable %s stops the program at once', async (name, fault) => {
    const folder = await emptyFolder()
    await writeFile(join(folder, name), 'short')
    expect(await runService(folder).catch((error: Error) => error.message)).toBe(
      `ended with code 1:\n${join(folder, name)} ${fault} Restore it from a backup, or create it as docs/installation.md describes.\n`,
    )
  })

  it.skipIf(process.platform !== 'linux')(
    'stops the program at once if the file system does not allow it',
    async () => {
      expect(await trying('/proc')).toBe(
        `ConfigError: ${messageOf('/proc', 'it is not writable (the file system does not allow new files there)')}`,
      )
      const fault = '/proc/nope cannot be created (the file system does not allow new files there)'
      expect(await runService('/proc/nope').catch((error: Error) => error.message)).toBe(
        `ended with code 1:\n${messageOf('/proc/nope', fault)}\n`,
      )
    },
  )
})
