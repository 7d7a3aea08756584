import { generateKeyPairSync } from 'node:crypto'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { emptyFolder } from '../../test/databases.ts'
import { checkKeys } from './files/key-files.ts'
import { createSecrets, createSigner } from './secrets.ts'

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
  await expect(open()).rejects.toThrow(`${path} must contain 32 bytes; it has 5.`)
  await rm(path)
  await expect(open()).rejects.toThrow(`${path} is missing: without it, encrypted data cannot be read.`)
})

it('checks the key files that exist, and creates none', async () => {
  const dataDir = await emptyFolder()
  await checkKeys(dataDir)
  expect(await readdir(dataDir)).toEqual([])
  await createSecrets(dataDir).seal('hush', 'one')
  await createSigner(dataDir).sign('text')
  await checkKeys(dataDir)
  const path = join(dataDir, 'audit.key')
  await writeFile(path, 'short')
  await expect(checkKeys(dataDir)).rejects.toThrow(
    `${path} cannot be used: it must contain an Ed25519 private key in PEM.`,
  )
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await expect(checkKeys(dataDir)).rejects.toThrow(
    `${path} cannot be used: it must contain an Ed25519 private key in PEM, but the key is of type ec. Restore it`,
  )
  await rm(path)
  await mkdir(path)
  await expect(checkKeys(dataDir)).rejects.toThrow(`${path} cannot be read (EISDIR).`)
  await expect(createSigner(dataDir).sign('text')).rejects.toThrow(`${path} cannot be read (EISDIR).`)
  await rm(path, { recursive: true })
  await symlink(join(dataDir, 'nothing'), path)
  await expect(checkKeys(dataDir)).rejects.toThrow(`${path} is a link to a file that does not exist.`)
  await expect(createSigner(dataDir).sign('text')).rejects.toThrow(`${path} is a link to a file that does not exist.`)
})

it('uses a key as soon as it is repaired', async () => {
  const dataDir = await emptyFolder()
  await writeFile(join(dataDir, 'secrets.key'), 'short')
  const secrets = createSecrets(dataDir)
  await expect(secrets.seal('hush', 'one')).rejects.toThrow('must contain 32 bytes')
  await writeFile(join(dataDir, 'secrets.key'), Buffer.alloc(32, 1))
  expect(await secrets.open(await secrets.seal('hush', 'one'), 'one')).toBe('hush')
})
