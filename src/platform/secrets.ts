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
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** Encrypts text that only this installation can decrypt; `context` must be the same both times. */
export interface Secrets {
  seal(text: string, context: string): Promise<string>
  /** Throws if the key is missing or is not the one that the text was encrypted with. */
  open(sealed: string, context: string): Promise<string>
}

/** Returns a key file in the data folder, outside the database; the first process that needs it creates it. */
const ensureKeyFile = async (path: string, make: () => Buffer): Promise<Buffer> => {
  const read = () => readFile(path).catch(() => null)
  const found = await read()
  if (found !== null) return found
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, make(), { mode: 0o600, flag: 'wx', flush: true })
  await link(draft, path).catch(() => undefined)
  await rm(draft)
  return (await read())!
}

const keyOf = async (path: string): Promise<Buffer> => {
  const found = await ensureKeyFile(path, () => randomBytes(KEY_BYTES))
  if (found.length !== KEY_BYTES) throw new Error(`${path} must hold ${KEY_BYTES} bytes; it has ${found.length}.`)
  return found
}

/** AES-256-GCM (NIST SP 800-38D) with a fresh nonce for every text. */
export const createSecrets = (dataDir: string): Secrets => {
  const path = join(dataDir, 'secrets.key')
  let key: Promise<Buffer> | null = null
  const ensureKey = (): Promise<Buffer> => (key ??= keyOf(path))
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
      const decipher = createDecipheriv(ALGORITHM, await ensureKey(), bytes.subarray(0, NONCE_BYTES))
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString()
      } catch (error) {
        throw new Error(`Encrypted data cannot be read: ${path} is not the key that it was encrypted with.`, {
          cause: error,
        })
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

const makeSigningKey = (): Buffer =>
  Buffer.from(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))

export const createSigner = (dataDir: string): Signer => {
  const path = join(dataDir, 'audit.key')
  let loaded: Promise<KeyObject> | null = null
  const load = async (): Promise<KeyObject> => {
    try {
      return createPrivateKey(await ensureKeyFile(path, makeSigningKey))
    } catch (error) {
      loaded = null
      throw new Error(`${path} cannot be used: it must hold a private key in PEM.`, { cause: error })
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
