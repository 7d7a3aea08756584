import { createCipheriv, createDecipheriv, createHmac, createPublicKey, randomBytes, sign, verify } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ensureEncryptionKey, ensureSigningKey } from './files/key-files.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Text that was encrypted with a key that has been replaced since, or is damaged. */
export class ReplacedKeyError extends Error {}

/** Encrypts text that only this installation can decrypt; `context` must be the same both times. */
export interface Secrets {
  seal(text: string, context: string): Promise<string>
  /** Throws if the key is missing. @throws ReplacedKeyError if the text was not encrypted with it, or is damaged */
  open(sealed: string, context: string): Promise<string>
}

/** Loads a key on first use, and again after a failure. */
const loadedOnce = <Key>(load: () => Promise<Key>) => {
  let loading: Promise<Key> | null = null
  return {
    isLoaded: (): boolean => loading !== null,
    get: (): Promise<Key> =>
      (loading ??= load().catch((error: unknown) => {
        loading = null
        throw error
      })),
  }
}

/** AES-256-GCM (NIST SP 800-38D) with a fresh nonce for every text. */
export const createSecrets = (dataDir: string): Secrets => {
  const path = join(dataDir, 'secrets.key')
  const key = loadedOnce(() => ensureEncryptionKey(dataDir))
  return {
    async seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, await key.get(), nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    },
    async open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64')
      if (!key.isLoaded() && !existsSync(path)) {
        throw new Error(`${path} is missing: without it, encrypted data cannot be read. Restore it from a backup.`)
      }
      const loaded = await key.get()
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
  const key = loadedOnce(() => ensureSigningKey(dataDir)).get
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
