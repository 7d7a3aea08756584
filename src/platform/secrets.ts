import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** Text that only this installation can read again; `context` must be the same both times. */
export interface Secrets {
  seal(text: string, context: string): Promise<string>
  /** Throws where the key is another one. */
  open(sealed: string, context: string): Promise<string>
}

/** The key in the data folder, outside the database: of 32 bytes, made when it is first needed, whoever is faster. */
const keyOf = async (path: string): Promise<Buffer> => {
  const read = () => readFile(path).catch(() => null)
  const found = await read()
  if (found !== null && found.length === KEY_BYTES) return found
  if (found !== null) throw new Error(`${path} must hold ${KEY_BYTES} bytes; it has ${found.length}.`)
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx', flush: true })
  await link(draft, path).catch(() => undefined)
  await rm(draft)
  return (await read())!
}

/** AES-256-GCM (NIST SP 800-38D) with a nonce of its own for every text. */
export const createSecrets = (dataDir: string): Secrets => {
  let key: Promise<Buffer> | null = null
  const ensureKey = (): Promise<Buffer> => (key ??= keyOf(join(dataDir, 'secrets.key')))
  return {
    async seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, await ensureKey(), nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')
    },
    async open(sealed, context) {
      const bytes = Buffer.from(sealed, 'base64')
      const decipher = createDecipheriv(ALGORITHM, await ensureKey(), bytes.subarray(0, NONCE_BYTES))
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      )
    },
  }
}
