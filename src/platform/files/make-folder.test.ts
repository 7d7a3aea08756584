import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { makeFolder } from './make-folder.ts'

test('creates all missing folders with the mode, also if others create them at the same time', async () => {
  const path = join(await emptyFolder(), 'a', 'b', 'c')
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(path, 0o700)))
  for (const each of [path, join(path, '..')]) expect((await stat(each)).mode & 0o777).toBe(0o700)
  expect([await makeFolder(path), await makeFolder(join(path, 'd'))]).toEqual([false, true])
})

test("rejects with the system's error for the first folder that cannot be created", async () => {
  const file = join(await emptyFolder(), 'file')
  await writeFile(file, '')
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST', path: file })
  await expect(makeFolder(join(file, 'a'))).rejects.toMatchObject({ code: 'ENOTDIR', path: join(file, 'a') })
})

test.runIf(process.platform === 'linux')('ends where the file system allows no new files', async () => {
  await expect(makeFolder('/proc/nope/a/b')).rejects.toMatchObject({ code: 'ENOENT', path: '/proc/nope' })
})
