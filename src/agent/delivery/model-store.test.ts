import { createHash } from 'node:crypto'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { openModelStore } from './model-store.ts'

test('what has replaced the file of a stored version is deleted, and the version counts as missing', async () => {
  const folder = (await openModelStore(await emptyFolder())).folder('m')
  const sha256 = createHash('sha256').update('first').digest('hex')
  const path = (await folder.partPath(sha256)).replace('.part', '.bin')
  for (const replace of [() => mkdir(path), () => symlink(`${path}-gone`, path), () => symlink(path, path)]) {
    await replace()
    expect(await folder.verify(sha256, 5)).toBeNull()
    expect(await readdir(folder.path)).toEqual([])
  }
  await writeFile(path, 'first')
  expect(await folder.verify(sha256, 5)).toBe(`${sha256}.bin`)
})
