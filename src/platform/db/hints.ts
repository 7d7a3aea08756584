import pg from 'pg'
import { ignoreBroken } from './pool-errors.ts'

/**
 * Wakes readers in every process that works on this database. A hint says only "look again", several may become one, and some
 * are lost while a connection is broken: whoever waits for one also looks from time to time without.
 */
export interface Hints {
  send(): void
  /** Returns how to stop. */
  listen(handler: () => void): () => void
  close(): Promise<void>
}

const CHANNEL = 'tributary_changes'
const MIN_INTERVAL_MS = 100
const RETRY_MS = 2000

const createHandlers = () => {
  const handlers = new Set<() => void>()
  return {
    wake: () => {
      for (const handler of [...handlers]) handler()
    },
    isEmpty: () => handlers.size === 0,
    add(handler: () => void) {
      handlers.add(handler)
      return () => void handlers.delete(handler)
    },
  }
}

/** For the embedded database, which one process has open. */
export const createLocalHints = (): Hints => {
  const { wake, add } = createHandlers()
  return { send: wake, listen: add, close: async () => undefined }
}

/**
 * Hints by NOTIFY, on one connection of its own: a pool's connection would lose its LISTEN, and NOTIFY inside a transaction
 * makes all that use it commit one after another. It is opened when it is first needed, and again when it breaks.
 */
export const createServerHints = (url: string): Hints => {
  const { wake, add, isEmpty } = createHandlers()
  let connection: Promise<pg.Client> | null = null
  let closed = false
  let retry: NodeJS.Timeout | undefined
  let sending: NodeJS.Timeout | undefined

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
      application_name: 'tributary changes',
    })
    ignoreBroken(client)
    client.on('notification', wake)
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
    client.on('end', lost)
    return client
  }

  const lost = (): void => {
    connection = null
    clearTimeout(retry)
    if (closed || isEmpty()) return
    retry = setTimeout(() => void ensure().then(wake, () => undefined), RETRY_MS)
    retry.unref()
  }

  const ensure = (): Promise<pg.Client> => {
    if (closed) return Promise.reject(new Error('The hints are closed.'))
    if (connection === null) {
      const opening = connect()
      connection = opening
      opening.catch(lost)
    }
    return connection
  }

  const notify = async (): Promise<void> => {
    const client = await ensure()
    await client.query(`notify ${CHANNEL}`)
  }

  return {
    send() {
      wake()
      // One for all that follow closely.
      sending ??= setTimeout(() => {
        sending = undefined
        notify().catch(() => undefined)
      }, MIN_INTERVAL_MS).unref()
    },
    listen(handler) {
      const stop = add(handler)
      ensure().catch(() => undefined)
      return stop
    },
    async close() {
      closed = true
      clearTimeout(retry)
      clearTimeout(sending)
      await connection?.then((client) => client.end()).catch(() => undefined)
    },
  }
}
