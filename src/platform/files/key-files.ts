import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { link, lstat, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const KEY_BYTES = 32

const FIX = 'Restore it from a backup, or create it as docs/installation.md describes.'

/** Null if there is no such file. */
const readKeyFile = async (path: string): Promise<Buffer | null> => {
  try {
    return await readFile(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT')
      throw new Error(`${path} cannot be read (${code}). Make it a file that the service's user may read.`)
    const entry = await lstat(path).catch(() => null)
    if (entry?.isSymbolicLink())
      throw new Error(`${path} is a link to a file that does not exist. Mount or restore that file.`)
    return null
  }
}

/** Returns a key file in the data folder, outside the database; the first process that needs it creates it. */
const ensureKeyFile = async (path: string, make: () => Buffer): Promise<Buffer> => {
  const found = await readKeyFile(path)
  if (found !== null) return found
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, make(), { mode: 0o600, flag: 'wx', flush: true })
    // Another process may have created it first. Unlike a rename, a link never replaces its key.
    await link(draft, path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    })
  } catch (error) {
    throw new Error(
      `${path} cannot be created (${(error as NodeJS.ErrnoException).code}): that needs a writable file system with hard links. Otherwise, create it as ` +
        'docs/installation.md describes.',
      { cause: error },
    )
  } finally {
    await rm(draft, { force: true })
  }
  const made = await readKeyFile(path)
  if (made === null) throw new Error(`${path} was deleted while it was created. Start again.`)
  return made
}

const encryptionKeyOf = (path: string, found: Buffer): Buffer => {
  if (found.length === KEY_BYTES) return found
  throw new Error(`${path} must contain ${KEY_BYTES} bytes; it has ${found.length}. ${FIX}`)
}

const signingKeyOf = (path: string, found: Buffer): KeyObject => {
  const wrong = `${path} cannot be used: it must contain an Ed25519 private key in PEM`
  let key: KeyObject
  try {
    key = createPrivateKey(found)
  } catch (error) {
    throw new Error(`${wrong}. ${FIX}`, { cause: error })
  }
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`${wrong}, but the key is of type ${key.asymmetricKeyType}. ${FIX}`)
  return key
}

const makeSigningKey = (): Buffer =>
  Buffer.from(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))

/** How the key files are made, and the bytes of their keys. */
const KEYS = {
  'secrets.key': { make: () => randomBytes(KEY_BYTES), bytesOf: encryptionKeyOf },
  'audit.key': {
    make: makeSigningKey,
    bytesOf: (path: string, found: Buffer) => signingKeyOf(path, found).export({ type: 'pkcs8', format: 'der' }),
  },
} as const

export type KeyFile = keyof typeof KEYS

/** The files in the data folder, outside the database, that contain keys. */
export const KEY_FILES = Object.keys(KEYS) as readonly KeyFile[]

/** Checks the content of a key file. @throws Error naming the file and the fix */
export const checkKey = (name: KeyFile, path: string, content: Buffer): void => {
  KEYS[name].bytesOf(path, content)
}

/** Checks the key files that exist; the others are created when they are needed. @throws Error naming the file and the fix */
export const checkKeys = async (dataDir: string): Promise<void> => {
  for (const name of KEY_FILES) {
    const path = join(dataDir, name)
    const found = await readKeyFile(path)
    if (found !== null) checkKey(name, path, found)
  }
}

/** Identifies the key in a file, and reveals nothing about it. Null if the file is missing and not to be created. */
export const fingerprintOf = async (
  dataDir: string,
  name: KeyFile,
  { create }: { readonly create: boolean },
): Promise<string | null> => {
  const path = join(dataDir, name)
  const { make, bytesOf } = KEYS[name]
  const found = create ? await ensureKeyFile(path, make) : await readKeyFile(path)
  if (found === null) return null
  return createHmac('sha256', bytesOf(path, found)).update('fingerprint').digest('hex').slice(0, 16)
}

/** Returns the key that encrypts secrets; created if it is missing. */
export const ensureEncryptionKey = async (dataDir: string): Promise<Buffer> => {
  const path = join(dataDir, 'secrets.key')
  return encryptionKeyOf(path, await ensureKeyFile(path, KEYS['secrets.key'].make))
}

/** Returns the key that signs; created if it is missing. */
export const ensureSigningKey = async (dataDir: string): Promise<KeyObject> => {
  const path = join(dataDir, 'audit.key')
  return signingKeyOf(path, await ensureKeyFile(path, KEYS['audit.key'].make))
}
