import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, lstat, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** Text that was encrypted with a key that has been replaced since, or is damaged. */
export class ReplacedKeyError extends Error {}

/** Encrypts text that only this installation can decrypt; `context` must be the same both times. */
export interface Secrets {
  seal(text: string, context: string): Promise<string>
  /** Throws if the key is missing. @throws ReplacedKeyError if the text was not encrypted with it, or is damaged */
  open(sealed: string, context: string): Promise<string>
}

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

const secretsKeyIn = (dataDir: string): string => join(dataDir, 'secrets.key')
const auditKeyIn = (dataDir: string): string => join(dataDir, 'audit.key')

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

/** Checks the key files that exist; the others are created when they are needed. @throws Error naming the file and the fix */
export const checkKeys = async (dataDir: string): Promise<void> => {
  for (const [name, { bytesOf }] of Object.entries(KEYS)) {
    const path = join(dataDir, name)
    const found = await readKeyFile(path)
    if (found !== null) bytesOf(path, found)
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

/** AES-256-GCM (NIST SP 800-38D) with a fresh nonce for every text. */
export const createSecrets = (dataDir: string): Secrets => {
  const path = secretsKeyIn(dataDir)
  let key: Promise<Buffer> | null = null
  const load = async (): Promise<Buffer> => {
    try {
      return encryptionKeyOf(path, await ensureKeyFile(path, () => randomBytes(KEY_BYTES)))
    } catch (error) {
      key = null
      throw error
    }
  }
  const ensureKey = (): Promise<Buffer> => (key ??= load())
  return {
    async seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, await ensureKey(), nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    },
    async open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64')
      if (key === null && !existsSync(path)) {
        throw new Error(`${path} is missing: without it, encrypted data cannot be read. Restore it from a backup.`)
      }
      const loaded = await ensureKey()
      try {
        const decipher = createDecipheriv(ALGORITHM, loaded, bytes.subarray(0, NONCE_BYTES))
        decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString()
      } catch (error) {
        throw new ReplacedKeyError(
          `Encrypted data cannot be read: ${path} is not the key that it was encrypted with.`,
          { cause: error },
        )
      }
    },
  }
}

/** Signs with this installation's key, `audit.key` in the data folder. */
export interface Signer {
  /** Ed25519 (RFC 8032), base64. */
  sign(text: string): Promise<string>
  isSignedBy(text: string, signature: string): Promise<boolean>
  /** SPKI, base64: verifies signatures without the service. */
  publicKey(): Promise<string>
  /** A stable pseudonym for `text` that reveals nothing about it without the key. */
  pseudonym(text: string): Promise<string>
}

export const createSigner = (dataDir: string): Signer => {
  const path = auditKeyIn(dataDir)
  let loaded: Promise<KeyObject> | null = null
  const load = async (): Promise<KeyObject> => {
    try {
      return signingKeyOf(path, await ensureKeyFile(path, makeSigningKey))
    } catch (error) {
      loaded = null
      throw error
    }
  }
  const key = (): Promise<KeyObject> => (loaded ??= load())
  return {
    sign: async (text) => sign(null, Buffer.from(text), await key()).toString('base64'),
    isSignedBy: async (text, signature) =>
      verify(null, Buffer.from(text), createPublicKey(await key()), Buffer.from(signature, 'base64')),
    publicKey: async () =>
      createPublicKey(await key())
        .export({ type: 'spki', format: 'der' })
        .toString('base64'),
    async pseudonym(text) {
      const secret = (await key()).export({ type: 'pkcs8', format: 'der' })
      return createHmac('sha256', secret).update(text).digest('base64url').slice(0, 22)
    },
  }
}
