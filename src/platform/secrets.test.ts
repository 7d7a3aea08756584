import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { createSecrets } from './secrets.ts'

it('decrypts what it encrypted, and explains problems with the key', async () => {
  const dataDir = await emptyFolder()
  const path = join(dataDir, 'secrets.key')
  const sealed = await createSecrets(dataDir).seal('hush', 'one')
  expect(sealed).not.toContain('hush')
  // As after a restart.
  const open = (context = 'one') => createSecrets(dataDir).open(sealed, context)
  expect(await open()).toBe('hush')
  const isAnother = `Encrypted data cannot be read: ${path} is not the key that it was encrypted with.`
  await expect(open('two')).rejects.toThrow(isAnother)
  await writeFile(path, Buffer.alloc(32))
  await expect(open()).rejects.toThrow(isAnother)
  await writeFile(path, 'short')
  await expect(open()).rejects.toThrow(`${path} must hold 32 bytes; it has 5.`)
  await rm(path)
  await expect(open()).rejects.toThrow(`${path} is missing: without it, encrypted data cannot be read.`)
})
